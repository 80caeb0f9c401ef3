import { DurableObject } from "cloudflare:workers";

/** One line of the ledger, and the fence it was written under. */
export interface Entry {
  readonly fence: string;
  readonly line: string;
}

/**
 * What the lease protects: it refuses every fence lower than the highest it has seen, so a holder
 * that was paused past the end of its lease can't overwrite its successor's work.
 */
export class Ledger extends DurableObject {
  /** Whether the line was written. */
  async write(fence: bigint, line: string): Promise<boolean> {
    const entries = await this.read();
    if (entries.some((entry) => BigInt(entry.fence) > fence)) return false;
    await this.ctx.storage.put("entries", [...entries, { fence: String(fence), line }]);
    return true;
  }

  /** All lines so far. */
  async read(): Promise<Entry[]> {
    return (await this.ctx.storage.get<Entry[]>("entries")) ?? [];
  }
}
