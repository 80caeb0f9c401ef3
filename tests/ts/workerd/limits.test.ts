/** What the stand-alone host does at the limits that `docs/limits.md` tells. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type WorkerSpec, Workers } from "./harness.ts";
import { type Response as Answer, acquire, request } from "./host.ts";

const ORDERS = "orders-only-0123456789";
const JOBS = "jobs-only-0123456789";

const HOST: WorkerSpec = {
  name: "leasehold",
  entry: new URL("./limits-worker.ts", import.meta.url),
  durableObjects: { LEASES: "Fillable" },
  vars: {
    LEASEHOLD_SHARDS: "1",
    LEASEHOLD_TOKENS: JSON.stringify([
      { token: ORDERS, prefixes: ["orders:"], rights: ["hold", "inspect", "revoke"] },
      { token: JOBS, prefixes: ["jobs:"] },
    ]),
  },
};

/** The numbers in a row of the document. */
async function documented(what: string): Promise<number[]> {
  const text = await readFile(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  const row = text.split("\n").find((line) => line.startsWith(`| ${what} `));
  const limit = row?.split("|")[2]?.replaceAll(",", "") ?? "";
  return [...limit.matchAll(/\d+/g)].map(([number]) => Number(number));
}

async function post(workers: Workers, token: string, asked: Record<string, unknown>) {
  const { operation, ...fields } = asked;
  const response = await fetch(new URL(`/v1/${operation}`, await workers.url()), {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(fields),
  });
  return { status: response.status, answer: (await response.json()) as Answer };
}

test("a body may be as large as the document says, and no larger", async () => {
  await using workers = await Workers.start(HOST);
  const [limit = 0] = await documented("a request's body over HTTPS");
  for (const [size, status] of [
    [limit, 200],
    [limit + 1, 413],
  ] as const) {
    const asked: Record<string, unknown> = { ...acquire(`orders:${size}`), padding: "" };
    const { operation: _, ...sent } = asked;
    asked.padding = "x".repeat(size - JSON.stringify(sent).length);
    assert.equal((await post(workers, ORDERS, asked)).status, status, `${size} bytes`);
  }
});

test("one scope that takes all it can leaves room for another, and can end what it has", async () => {
  await using workers = await Workers.start(HOST);
  const [keys = 0] = await documented("live keys of one Durable Object, so of one shard");
  // Half is for whoever comes first; of the rest, each of two prefixes and all other keys have a third.
  const most = keys / 2 + Math.floor(keys / 2 / 3);
  const fill = async (prefix: string, count: number) => {
    const path = `/fill/${encodeURIComponent("shard/1/0")}/${count}`;
    const body = JSON.stringify(acquire(prefix, { ttlMs: 86_400_000 }));
    return (await fetch(new URL(path, await workers.url()), { method: "POST", body })).json();
  };
  assert.deepEqual(await fill("orders:", most + 10), { granted: most, "too-many-keys": 10 });

  const more = await post(workers, ORDERS, acquire("orders:one more"));
  assert.deepEqual([more.status, more.answer.reason], [503, "too-many-keys"]);
  const other = await post(workers, JOBS, acquire("jobs:1"));
  assert.equal(other.answer.outcome, "granted");
  const op = acquire("orders:never").op;
  const cancelled = await post(workers, ORDERS, { ...request("cancel", "orders:never"), op });
  assert.equal(cancelled.answer.outcome, "cancelled");
  const revoked = await post(workers, ORDERS, request("revoke", "orders:0"));
  assert.deepEqual([revoked.answer.outcome, revoked.answer.revoked], ["revoked", 1]);
  await sleep(Number(more.answer.retryAfterMs));
  const again = await post(workers, ORDERS, acquire("orders:in its place"));
  assert.equal(again.answer.outcome, "granted");
});
