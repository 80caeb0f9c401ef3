/** A Durable Object with a guard in its storage, and a bucket behind the S3 API's conditions. */

import { DurableObject } from "cloudflare:workers";
import { durableObjectFence, type Fenced } from "leasehold/fence";

interface Bucket {
  get(name: string): Promise<{ readonly body: ReadableStream; readonly httpEtag: string } | null>;
  put(name: string, body: unknown, options: { onlyIf: Headers }): Promise<unknown>;
}

interface Env {
  readonly LEDGERS: DurableObjectNamespace<Ledger>;
  readonly BUCKET: Bucket;
}

export class Ledger extends DurableObject {
  readonly #guard = durableObjectFence(this.ctx.storage);

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.storage.sql.exec(
      "CREATE TABLE IF NOT EXISTS line (id INTEGER PRIMARY KEY, name TEXT, slot INTEGER, line TEXT)",
    );
  }

  advance(lease: Fenced): void {
    this.#guard.advance(lease);
  }

  write(lease: Fenced, line: string): void {
    this.#guard.advance(lease);
    const insert = "INSERT INTO line (name, slot, line) VALUES (?, ?, ?)";
    this.ctx.storage.sql.exec(insert, lease.key, lease.slot ?? 0, line);
  }

  lines({ key, slot = 0 }: Fenced): string[] {
    const select = "SELECT line FROM line WHERE name = ? AND slot = ? ORDER BY id";
    return this.ctx.storage.sql
      .exec(select, key, slot)
      .toArray()
      .map(({ line }) => String(line));
  }
}

interface Call {
  readonly method: "advance" | "write" | "lines";
  readonly lease: Record<string, unknown>;
  readonly line?: string;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const name = decodeURIComponent(new URL(request.url).pathname.slice(1));
    if (name === "ledger") return ledger((await request.json()) as Call, env);

    // As S3 does it: 412 when the condition doesn't hold, the ETag in quotes.
    if (request.method === "PUT") {
      const stored = await env.BUCKET.put(name, request.body, { onlyIf: request.headers });
      return new Response(null, { status: stored === null ? 412 : 200 });
    }
    const found = await env.BUCKET.get(name);
    return found === null
      ? new Response(null, { status: 404 })
      : new Response(found.body, { headers: { etag: found.httpEtag } });
  },
};

/** What a fence is in JSON stands behind its type: a bigint has none. */
async function ledger({ method, lease: sent, line = "" }: Call, env: Env): Promise<Response> {
  const fence = String(sent.fence).endsWith("n")
    ? BigInt(String(sent.fence).slice(0, -1))
    : sent.fence;
  const lease = { ...sent, fence } as unknown as Fenced;
  const object = env.LEDGERS.getByName("one");
  try {
    return Response.json({ answer: (await object[method](lease, line)) ?? null });
  } catch (error) {
    const { code, reason, message } = error as { code?: string; reason?: string; message: string };
    return Response.json({ code, reason, message });
  }
}
