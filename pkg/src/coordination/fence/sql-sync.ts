import { argument, type Check, hasMethod, having } from "../../lease/check.js";
import { type Fenced, fencedOut, record, type SyncFenceGuard } from "./fenced.js";
import { ADVANCE, FENCE_SCHEMA, isRefusal } from "./sql.js";

const STORAGE: Check = {
  must: "a Durable Object's ctx.storage, of a class with SQLite storage",
  is: (value) => hasMethod(Reflect.get(value as object, "sql"), "exec"),
};
const DATABASE = having("an open SQLite database", "exec", "prepare");

/** What is used of a Durable Object's `ctx.storage`. */
export interface DurableObjectStorageLike {
  readonly sql: { exec(query: string, ...bindings: (string | number)[]): unknown };
}

/** What is used of a SQLite database: `node:sqlite`, `better-sqlite3`, `bun:sqlite`. */
export interface SqliteLike {
  exec(sql: string): unknown;
  prepare(sql: string): { run(...values: (string | number)[]): unknown };
}

/**
 * A guard in a Durable Object's own SQLite storage. Makes its table if there is none.
 *
 * Between `advance` and the writes it guards there may be no `await`: until the next one, an object
 * runs nothing else, and what it has stored is stored together.
 */
export function durableObjectFence(storage: DurableObjectStorageLike): SyncFenceGuard {
  argument("storage", STORAGE, storage).sql.exec(FENCE_SCHEMA.sqlite);
  return guard((...values) => storage.sql.exec(ADVANCE.sqlite, ...values));
}

/**
 * A guard in a SQLite database. Makes its table if there is none, so not for the first time in a
 * transaction that may be rolled back.
 *
 * Call `advance` in the transaction of the writes, one begun with `BEGIN IMMEDIATE`.
 */
export function sqliteFence(database: SqliteLike): SyncFenceGuard {
  argument("database", DATABASE, database).exec(FENCE_SCHEMA.sqlite);
  const statement = database.prepare(ADVANCE.sqlite);
  return guard((...values) => statement.run(...values));
}

function guard(run: (key: string, slot: number, fence: string) => unknown): SyncFenceGuard {
  return {
    advance(lease: Fenced) {
      const { key, slot, fence } = record(lease);
      try {
        run(key, slot, fence);
      } catch (error) {
        throw isRefusal(error) ? fencedOut(lease, error) : error;
      }
    },
  };
}
