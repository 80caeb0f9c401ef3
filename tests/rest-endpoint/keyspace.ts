import type { RedisConnection } from "./redis.ts";
import type { Command, Reply } from "./resp.ts";

interface SavedKey {
  readonly key: Buffer;
  readonly dump: Buffer;
  /** Unix ms, or 0 for none. */
  readonly expiresAt: string;
}

export type Snapshot = readonly SavedKey[];

const PAUSE_MS = "10000";

/** All keys of database 0 as of one moment: writers wait while they are read. */
export async function takeSnapshot(redis: RedisConnection): Promise<Snapshot> {
  await redis.send("CLIENT", "PAUSE", PAUSE_MS, "WRITE");
  try {
    const keys = await allKeys(redis, "*");
    const replies = await redis.sendAll(
      keys.flatMap((key): Command[] => [
        ["DUMP", key],
        ["PEXPIRETIME", key],
      ]),
    );
    return keys.flatMap((key, index) => saved(key, replies[2 * index], replies[2 * index + 1]));
  } finally {
    await redis.send("CLIENT", "UNPAUSE");
  }
}

function saved(key: Buffer, dump: Reply | undefined, expiry: Reply | undefined): SavedKey[] {
  // A key that expired in between has no dump.
  if (dump?.kind !== "bulk" || dump.bytes === null || expiry?.kind !== "integer") return [];
  return [{ key, dump: dump.bytes, expiresAt: expiry.digits === "-1" ? "0" : expiry.digits }];
}

/** Puts the snapshot back at once; the script cache is lost too, as on a promoted replica. */
export async function restoreSnapshot(redis: RedisConnection, snapshot: Snapshot): Promise<void> {
  const restores = snapshot.map(
    ({ key, dump, expiresAt }): Command => ["RESTORE", key, expiresAt, dump, "ABSTTL"],
  );
  await atomically(redis, [["FLUSHDB"], ["SCRIPT", "FLUSH"], ...restores]);
}

/** Deletes the keys that match and have a TTL, and tells which they were. */
export async function evictVolatile(redis: RedisConnection, pattern: string): Promise<string[]> {
  const keys = await allKeys(redis, pattern);
  const expiries = await redis.sendAll(keys.map((key): Command => ["PEXPIRETIME", key]));
  const doomed = keys.filter((_, index) => {
    const expiry = expiries[index];
    return expiry?.kind === "integer" && !expiry.digits.startsWith("-");
  });
  if (doomed.length > 0) await redis.send("DEL", ...doomed);
  return doomed.map(String);
}

async function allKeys(redis: RedisConnection, pattern: string): Promise<Buffer[]> {
  const reply = await redis.send("KEYS", pattern);
  if (reply.kind !== "array") throw new Error("KEYS did not answer with an array");
  return (reply.items ?? []).flatMap((item) =>
    item.kind === "bulk" && item.bytes ? item.bytes : [],
  );
}

async function atomically(redis: RedisConnection, commands: readonly Command[]): Promise<void> {
  const replies = await redis.sendAll([["MULTI"], ...commands, ["EXEC"]]);
  const result = replies.at(-1);
  const failure =
    result?.kind === "array" ? result.items?.find((item) => item.kind === "error") : result;
  if (failure) throw new Error(failure.kind === "error" ? failure.text : "EXEC failed");
}
