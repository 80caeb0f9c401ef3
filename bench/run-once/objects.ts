/** What is compared in workerd: `runOnce`, and an idempotency table as it is written by hand. */

import { DurableObject } from "cloudflare:workers";
import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";

export { LeaseHost } from "leasehold/host";

const CLAIM_MS = 30_000;

type Begun = { readonly result: string } | { readonly mayRun: boolean };

/**
 * One row per key: claimed for a time, then done. Whoever comes second is turned away; it knows no
 * queue, no fence, no renewal of a claim and no repeated request, and keeps its rows for ever.
 */
export class IdempotencyTable extends DurableObject {
  readonly #sql = this.ctx.storage.sql;

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    this.#sql.exec(
      "CREATE TABLE IF NOT EXISTS once (key TEXT PRIMARY KEY, claimed INTEGER NOT NULL, result TEXT)",
    );
  }

  begin(key: string): Begun {
    const now = Date.now();
    const [row] = this.#sql.exec("SELECT claimed, result FROM once WHERE key = ?", key).toArray();
    if (typeof row?.result === "string") return { result: row.result };
    if (Number(row?.claimed ?? 0) + CLAIM_MS > now) return { mayRun: false };
    this.#sql.exec("INSERT OR REPLACE INTO once VALUES (?, ?, NULL)", key, now);
    return { mayRun: true };
  }

  finish(key: string, result: string): void {
    this.#sql.exec("UPDATE once SET result = ? WHERE key = ?", result, key);
  }
}

interface Env {
  readonly LEASES: LeaseNamespace;
  readonly TABLE: DurableObjectNamespace<IdempotencyTable>;
}

type Work = () => Promise<{ charged: number }>;

async function byHand({ TABLE }: Env, key: string, work: Work): Promise<unknown> {
  const table = TABLE.getByName(key);
  const begun = await table.begin(key);
  if ("result" in begun) return JSON.parse(begun.result);
  if (!begun.mayRun) throw new Error("another is at it");
  const result = JSON.stringify(await work());
  await table.finish(key, result);
  return JSON.parse(result);
}

const contenders: Record<string, (env: Env) => (key: string, work: Work) => Promise<unknown>> = {
  table: (env) => (key, work) => byHand(env, key, work),
  runOnce: (env) => {
    const leases = new LeaseClient(durableObject(env.LEASES));
    return (key, work) => leases.runOnce(key, { keepMs: 60_000 }, work);
  },
};

/** `GET /<contender>/<prefix of the keys>/<how many>/<at once>`: each key once. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [contender = "", prefix = "", ...numbers] = new URL(request.url).pathname
      .slice(1)
      .split("/");
    const [count = 0, atOnce = 1] = numbers.map(Number);
    const once = contenders[contender]?.(env);
    if (once === undefined) return new Response("no such contender", { status: 404 });
    let ran = 0;
    const loop = async (first: number) => {
      for (let index = first; index < count; index += atOnce) {
        await once(`${prefix}-${index}`, async () => {
          ran += 1;
          return { charged: index };
        });
      }
    };
    await Promise.all(Array.from({ length: atOnce }, (_, first) => loop(first)));
    return Response.json({ ran });
  },
};
