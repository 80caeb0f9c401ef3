import { DatabaseSync } from "node:sqlite";
import { type Fenced, sqliteFence } from "leasehold/fence";

/** What is to be charged. */
export type Order = {
  readonly id: string;
  readonly cents: number;
};

/** A charge that was made, and the fence that it was made under. */
export type Charge = Order & { readonly fence: string };

/** The money. Refuses whoever is not the latest to have taken an order over. */
export class Ledger {
  readonly #database: DatabaseSync;
  readonly #guard: ReturnType<typeof sqliteFence>;

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { timeout: 5_000 });
    this.#database.exec(
      "CREATE TABLE IF NOT EXISTS charge (id TEXT NOT NULL, cents INTEGER NOT NULL, fence TEXT NOT NULL)",
    );
    this.#guard = sqliteFence(this.#database);
  }

  /** From here on nobody before this holder charges any more. What they have charged is returned. */
  takeOver(lease: Fenced, id: string): Charge | undefined {
    return this.#transaction(lease, () => this.charges(id)[0]);
  }

  /** @throws LeaseError `LOST`, reason `fenced-out`, for a holder that another has taken over from. */
  charge(lease: Fenced, { id, cents }: Order): Charge {
    const fence = String(lease.fence);
    return this.#transaction(lease, () => {
      this.#database.prepare("INSERT INTO charge VALUES (?, ?, ?)").run(id, cents, fence);
      return { id, cents, fence };
    });
  }

  charges(id: string): Charge[] {
    const select = this.#database.prepare("SELECT id, cents, fence FROM charge WHERE id = ?");
    return select.all(id).map((row) => ({ ...row }) as unknown as Charge);
  }

  close(): void {
    this.#database.close();
  }

  #transaction<T>(lease: Fenced, change: () => T): T {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      this.#guard.advance(lease);
      const result = change();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}
