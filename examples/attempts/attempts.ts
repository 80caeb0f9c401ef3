/**
 * Durable work in a SQLite database that several processes of one machine share: a run is a piece
 * of work, an attempt is one worker's try at it. Whoever crashes or freezes loses the attempt when
 * its term ends, and the next one begins the run again.
 */

import type { DatabaseSync } from "node:sqlite";
import { LeaseError } from "leasehold";
import { type SyncFenceGuard, sqliteFence } from "leasehold/fence";

/** A worker's hold on a run. */
export interface Attempt {
  /** The run, and what it is about. */
  readonly run: number;
  readonly input: string;
  /** Which try at the run this is, from 1. */
  readonly attempt: number;
  /** The worker's name. */
  readonly owner: string;
  /** Higher than that of every earlier attempt at any run. */
  readonly fence: bigint;
  /** When the attempt ends unless there is a heartbeat, in milliseconds since 1970. */
  readonly expiresAt: number;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS run (
    id INTEGER PRIMARY KEY,
    input TEXT NOT NULL,
    result TEXT
  );
  CREATE TABLE IF NOT EXISTS attempt (
    fence INTEGER PRIMARY KEY AUTOINCREMENT, -- AUTOINCREMENT: never the same number twice
    run INTEGER NOT NULL REFERENCES run,
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    UNIQUE (run, number)
  );`;

/** The oldest run that is neither done nor held by an attempt whose term is running. */
const NEXT = `
  SELECT run.id AS run, run.input, count(attempt.fence) + 1 AS attempt
  FROM run LEFT JOIN attempt ON attempt.run = run.id
  WHERE run.result IS NULL
  GROUP BY run.id
  HAVING max(coalesce(attempt.expires_at, 0)) <= ?
  ORDER BY run.id LIMIT 1`;

export class Attempts {
  readonly #database: DatabaseSync;
  readonly #guard: SyncFenceGuard;
  readonly #termMs: number;

  /** Open the database with a `timeout`: the processes wait for each other's transactions. */
  constructor(database: DatabaseSync, termMs = 30_000) {
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(SCHEMA);
    this.#database = database;
    this.#guard = sqliteFence(database);
    this.#termMs = termMs;
  }

  /** Adds a run. */
  add(input: string): number {
    const added = this.#database.prepare("INSERT INTO run (input) VALUES (?)").run(input);
    return Number(added.lastInsertRowid);
  }

  /** What a run has come to; undefined until it is done. */
  result(run: number): string | undefined {
    const found = this.#database.prepare("SELECT result FROM run WHERE id = ?").get(run);
    return found?.result?.toString();
  }

  /** Begins an attempt at the next run, in one transaction; undefined if nothing is to be done. */
  claim(owner: string): Attempt | undefined {
    return this.#transaction(() => {
      const now = Date.now();
      const next = this.#database.prepare(NEXT).get(now);
      if (next === undefined) return undefined;
      const [run, number] = [Number(next.run), Number(next.attempt)];
      const expiresAt = now + this.#termMs;
      const { lastInsertRowid } = this.#database
        .prepare("INSERT INTO attempt (run, number, owner, expires_at) VALUES (?, ?, ?, ?)")
        .run(run, number, owner, expiresAt);
      const fence = BigInt(lastInsertRowid);
      // From here on no earlier attempt can write, however late it wakes up.
      this.#guard.advance({ key: `run:${run}`, fence });
      return { run, input: String(next.input), attempt: number, owner, fence, expiresAt };
    });
  }

  /** A heartbeat: the term begins anew. Throws `LOST` if it was over: it is never revived. */
  extend(attempt: Attempt): Attempt {
    return this.write(attempt, () => {
      const expiresAt = Date.now() + this.#termMs;
      this.#database
        .prepare("UPDATE attempt SET expires_at = ? WHERE fence = ?")
        .run(expiresAt, attempt.fence);
      return { ...attempt, expiresAt };
    });
  }

  /** Makes changes to this database that are kept only if the attempt is alive. */
  write<T>(attempt: Attempt, change: () => T): T {
    return this.#transaction(() => {
      const { run, fence } = attempt;
      this.#guard.advance({ key: `run:${run}`, fence });
      const alive = this.#database
        .prepare("SELECT 1 FROM attempt WHERE fence = ? AND expires_at > ?")
        .get(fence, Date.now());
      if (alive === undefined) {
        const details = { key: `run:${run}`, fence, reason: "expired" };
        throw new LeaseError("LOST", `Attempt ${attempt.attempt} at run ${run} is over.`, details);
      }
      return change();
    });
  }

  /** Records the result of the run, which nobody begins again. */
  finish(attempt: Attempt, result: string): void {
    this.write(attempt, () => {
      this.#database.prepare("UPDATE run SET result = ? WHERE id = ?").run(result, attempt.run);
      this.#end(attempt);
    });
  }

  /** Gives the run to the next attempt at once. */
  giveUp(attempt: Attempt): void {
    this.write(attempt, () => this.#end(attempt));
  }

  #end({ fence }: Attempt): void {
    this.#database.prepare("UPDATE attempt SET expires_at = 0 WHERE fence = ?").run(fence);
  }

  #transaction<T>(work: () => T): T {
    // IMMEDIATE: one that begins with a read could not be turned into a write in time.
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const result = work();
      this.#database.exec("COMMIT");
      return result;
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }
}

/** What a worker does for a run. `signal` aborts when the attempt is lost. */
export type Job = (attempt: Attempt, signal: AbortSignal) => Promise<string>;

/**
 * One attempt at the next run, with a heartbeat.
 *
 * @returns Whether there was a run. Rejects with what the job threw, or `LOST`.
 */
export async function workOnce(
  attempts: Attempts,
  owner: string,
  job: Job,
  heartbeatMs = 10_000,
): Promise<boolean> {
  const attempt = attempts.claim(owner);
  if (attempt === undefined) return false;
  const lost = new AbortController();
  const heart = setInterval(() => {
    try {
      attempts.extend(attempt);
    } catch (error) {
      clearInterval(heart);
      lost.abort(error);
    }
  }, heartbeatMs);
  try {
    const result = await job(attempt, lost.signal);
    attempts.finish(attempt, result);
  } catch (error) {
    if (lost.signal.aborted) throw lost.signal.reason;
    if (!LeaseError.is(error)) attempts.giveUp(attempt);
    throw error;
  } finally {
    clearInterval(heart);
  }
  return true;
}
