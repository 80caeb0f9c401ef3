import type { ServerResponse } from "node:http";
import type { FaultKind } from "./faults.ts";
import type { Command, Reply } from "./resp.ts";
import type { Upstream } from "./upstream.ts";

/** The open event streams. */
export class Streams {
  readonly #upstream: Upstream;
  readonly #note: (kind: FaultKind) => void;
  readonly #responses = new Set<ServerResponse>();
  /** While true, messages are lost and the streams stay open. */
  muted = false;

  constructor(upstream: Upstream, note: (kind: FaultKind) => void) {
    this.#upstream = upstream;
    this.#note = note;
  }

  get open(): number {
    return this.#responses.size;
  }

  /** Cuts every stream and tells how many there were. */
  closeAll(): number {
    const count = this.#responses.size;
    for (const response of this.#responses) {
      response.destroy();
      this.#note("stream-close");
    }
    return count;
  }

  async serve(command: Command, response: ServerResponse): Promise<void> {
    const connection = await this.#upstream.dedicated();
    if (response.destroyed) {
      connection.close();
      return;
    }
    this.#responses.add(response);
    response.once("close", () => {
      this.#responses.delete(response);
      connection.close();
    });
    void connection.closed.then(() => response.destroy());
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    response.flushHeaders();
    connection.stream(command, (reply) => this.#deliver(response, messageLine(reply)));
  }

  #deliver(response: ServerResponse, line: string): void {
    if (this.muted) this.#note("stream-mute");
    else response.write(`data: ${line}\n\n`);
  }
}

// The real service joins with commas and escapes nothing, so neither do we.
function messageLine(reply: Reply): string {
  if (reply.kind === "array") return (reply.items ?? []).map(messageLine).join(",");
  if (reply.kind === "integer") return reply.digits;
  return reply.kind === "bulk" ? String(reply.bytes ?? "") : reply.text;
}
