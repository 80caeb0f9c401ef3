import { DurableObject } from "cloudflare:workers";
import { LeaseError } from "leasehold";
import { durableObjectFence, type Fenced } from "leasehold/fence";

/** One line of the ledger, and the fence it was written under. */
export type Entry = {
  readonly fence: string;
  readonly line: string;
};

/**
 * What the lease protects: it refuses every fence lower than the highest it has seen, so a holder
 * that was paused past the end of its lease can't overwrite its successor's work.
 */
export class Ledger extends DurableObject<unknown> {
  readonly #sql = this.ctx.storage.sql;
  readonly #guard = durableObjectFence(this.ctx.storage);

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, fence TEXT, line TEXT)",
    );
  }

  /** A new holder takes over: from here on no earlier one can write. */
  takeOver(lease: Fenced): Entry[] {
    this.#guard.advance(lease);
    return this.read();
  }

  /** Whether the line was written. Nothing comes between the guard and the write: no `await`. */
  write(lease: Fenced, line: string): boolean {
    try {
      this.#guard.advance(lease);
    } catch (error) {
      if (LeaseError.is(error) && error.code === "LOST") return false;
      throw error;
    }
    const insert = "INSERT INTO entry (fence, line) VALUES (?, ?)";
    this.#sql.exec(insert, String(lease.fence), line);
    return true;
  }

  /** All lines so far. */
  read(): Entry[] {
    return this.#sql.exec<Entry>("SELECT fence, line FROM entry ORDER BY id").toArray();
  }
}
