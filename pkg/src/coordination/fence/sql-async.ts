import { argument, type Check, callback, hasMethod, having } from "../../lease/check.js";
import { type Fenced, type FenceGuard, fencedOut, record } from "./fenced.js";
import { ADVANCE, isRefusal } from "./sql.js";

const RUN: Check = {
  ...callback,
  hint: (value) =>
    hasMethod(value, "query") ? "pass (text, values) => client.query(text, values)" : undefined,
};
const DATABASE = having("a D1 database, such as env.DB", "prepare", "batch");
const STATEMENTS: Check = { must: "an array of statements", is: Array.isArray };

/** Runs one statement on the connection that has the transaction open. */
export type RunSql = (text: string, values: (string | number)[]) => PromiseLike<unknown>;

/**
 * A guard in a Postgres table, {@link FENCE_SCHEMA}`.postgres`. Make one per transaction, over its
 * connection: it is as cheap as an object.
 *
 * A refusal fails the transaction, as any error does in Postgres. Above `READ COMMITTED` the
 * database may also ask for another try (`40001`): that error is passed on as it is.
 */
export function postgresFence(run: RunSql): FenceGuard {
  return guard(ADVANCE.postgres, argument("run", RUN, run));
}

/**
 * A guard in a MySQL or MariaDB table, {@link FENCE_SCHEMA}`.mysql`. Make one per transaction,
 * over its connection, and roll back when it throws: MySQL would commit the rest.
 */
export function mysqlFence(run: RunSql): FenceGuard {
  return guard(ADVANCE.mysql, argument("run", RUN, run));
}

/** What is used of a D1 statement. */
export interface D1StatementLike {
  bind(...values: (string | number)[]): D1StatementLike;
  run(): Promise<unknown>;
}

/** What is used of a D1 database, `S` being its statements and `R` their results. */
export interface D1Like<S, R> {
  prepare(sql: string): S;
  batch(statements: S[]): Promise<R[]>;
}

/** A guard in D1, with the one kind of transaction that D1 has. */
export interface D1Guard<S, R> extends FenceGuard {
  /**
   * Notes the fence and runs the statements, all or nothing.
   *
   * @returns The results of the statements.
   * @throws LeaseError `LOST`, reason `fenced-out`, with nothing written.
   */
  batch(lease: Fenced, statements: readonly S[]): Promise<R[]>;
}

/** A guard in a D1 database's table, {@link FENCE_SCHEMA}`.sqlite`. */
export function d1Fence<S extends D1StatementLike, R>(database: D1Like<S, R>): D1Guard<S, R> {
  argument("database", DATABASE, database);
  const advance = (values: (string | number)[]) =>
    database.prepare(ADVANCE.sqlite).bind(...values) as S;
  return {
    ...guard(ADVANCE.sqlite, (_, values) => advance(values).run()),
    batch: (lease, statements) =>
      refusing(lease, async (values) => {
        argument("statements", STATEMENTS, statements);
        const [, ...results] = await database.batch([advance(values), ...statements]);
        return results;
      }),
  };
}

function guard(statement: string, run: RunSql): FenceGuard {
  return {
    advance: (lease) =>
      refusing(lease, async (values) => {
        await run(statement, values);
      }),
  };
}

/** Does what may fail for a higher fence, and says so if it does. */
async function refusing<T>(
  lease: Fenced,
  work: (values: (string | number)[]) => Promise<T>,
): Promise<T> {
  const { key, slot, fence } = record(lease);
  try {
    return await work([key, slot, fence]);
  } catch (error) {
    throw isRefusal(error) ? fencedOut(lease, error) : error;
  }
}
