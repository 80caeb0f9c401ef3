import type { CommandTable } from "./commands.ts";
import { COPY_DATABASE, refreshCopy } from "./keyspace.ts";
import type { RedisConnection } from "./redis.ts";
import type { Command } from "./resp.ts";
import type { Upstream } from "./upstream.ts";

/** The lag switch, and the sync tokens that see through it. */
export class Replica {
  readonly #upstream: Upstream;
  readonly #onStaleRead: () => void;
  #lagging = false;
  #writes = 0;
  #answers = 0;
  #copiedAtWrite = 0;

  constructor(upstream: Upstream, onStaleRead: () => void) {
    this.#upstream = upstream;
    this.#onStaleRead = onStaleRead;
  }

  /** From now on requests made of reads alone see the data as it is at this moment. */
  async lag(): Promise<void> {
    await this.#copy();
    this.#lagging = true;
  }

  catchUp(): void {
    this.#lagging = false;
  }

  noteWrite(): void {
    this.#writes += 1;
  }

  /** Opaque to clients; differs in every answer. */
  nextToken(): string {
    this.#answers += 1;
    return Buffer.from(`${this.#writes}/${this.#answers}`).toString("base64url");
  }

  /** The copy's connection, if that is what serves the commands. */
  async serving(
    commands: readonly Command[],
    table: CommandTable,
    syncToken: string | undefined,
  ): Promise<RedisConnection | undefined> {
    if (!this.#lagging || !commands.every((command) => table.reads(command))) return undefined;
    if (writesSeen(syncToken) > this.#copiedAtWrite) await this.#copy();
    this.#onStaleRead();
    return this.#upstream.copy(COPY_DATABASE);
  }

  async #copy(): Promise<void> {
    const writes = this.#writes;
    const connection = await this.#upstream.dedicated();
    try {
      await refreshCopy(connection);
    } finally {
      connection.close();
    }
    this.#copiedAtWrite = writes;
  }
}

function writesSeen(token: string | undefined): number {
  if (token === undefined) return 0;
  const [writes] = Buffer.from(token, "base64url").toString().split("/");
  return Number(writes) || 0;
}
