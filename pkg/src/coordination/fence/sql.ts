/**
 * The guard's table, for a migration, by dialect: one row per key and slot. Fences stand in it as
 * twenty digits, which every dialect compares alike, and no driver rounds.
 */
export const FENCE_SCHEMA = {
  postgres:
    'CREATE TABLE IF NOT EXISTS leasehold_fence (lease_key text COLLATE "C" NOT NULL, slot integer NOT NULL, fence text COLLATE "C" NOT NULL, PRIMARY KEY (lease_key, slot))',
  mysql:
    "CREATE TABLE IF NOT EXISTS leasehold_fence (lease_key varbinary(512) NOT NULL, slot int NOT NULL, fence varbinary(20) NOT NULL, PRIMARY KEY (lease_key, slot)) ENGINE=InnoDB",
  sqlite:
    "CREATE TABLE IF NOT EXISTS leasehold_fence (lease_key TEXT NOT NULL, slot INTEGER NOT NULL, fence TEXT NOT NULL, PRIMARY KEY (lease_key, slot)) WITHOUT ROWID",
} as const;

/**
 * One statement that notes a key, slot and fence, and fails if a higher fence is there. That it
 * fails, and doesn't just change no row, ends the transaction or batch around it: a caller who
 * forgets to look at the outcome still writes nothing. It writes the row in any case, so that
 * whoever comes next waits for this transaction.
 */
export const ADVANCE = {
  postgres: upsert("($1, $2, $3)"),
  // A column that may not be null would become empty text in MySQL's lenient mode.
  mysql:
    "INSERT INTO leasehold_fence (lease_key, slot, fence) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE fence = IF(VALUES(fence) >= fence, VALUES(fence), (SELECT 1 UNION SELECT 2))",
  sqlite: upsert("(?, ?, ?)"),
} as const;

function upsert(values: string): string {
  return `INSERT INTO leasehold_fence (lease_key, slot, fence) VALUES ${values} ON CONFLICT (lease_key, slot) DO UPDATE SET fence = CASE WHEN excluded.fence >= leasehold_fence.fence THEN excluded.fence END`;
}

/** What a database says when {@link ADVANCE} has met a higher fence. */
const REFUSAL = {
  /** Postgres: a null in a column that has none. */
  state: "23502",
  /** MySQL and MariaDB: a subquery with two rows. */
  errno: 1242,
  /** SQLite, whatever wraps it. */
  text: "NOT NULL constraint failed: leasehold_fence.fence",
};

/** Whether an error, or what caused it, is the database's refusal of a lower fence. */
export function isRefusal(error: unknown): boolean {
  if (typeof error !== "object" || error === null) {
    return false;
  }
  const { code, errno, message, cause } = error as Record<string, unknown>;
  return (
    code === REFUSAL.state ||
    errno === REFUSAL.errno ||
    String(message).includes(REFUSAL.text) ||
    (cause !== error && isRefusal(cause))
  );
}
