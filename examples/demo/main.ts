/**
 * The main job, on the real runtime: two handlers want the same order. One gets the lease and is
 * cut off in the middle of its work, without releasing; the other waits and takes over; the dead
 * one's late write is refused.
 *
 * Run with `cargo xtask demo`.
 */

import assert from "node:assert/strict";
import { Workers } from "../../tests/ts/workerd/harness.ts";
import type { Entry } from "../workers/src/ledger.ts";

const started = performance.now();

function say(line: string): void {
  console.log(`${((performance.now() - started) / 1_000).toFixed(1).padStart(5)} s  ${line}`);
}

say("starting the example Worker in workerd, with its Durable Objects on disk");
await using workers = await Workers.start({
  name: "orders",
  entry: new URL("../workers/src/index.ts", import.meta.url),
  durableObjects: { LEASES: "LeaseHost", LEDGER: "Ledger" },
});
const url = await workers.url();

const get = (path: string, init: RequestInit = {}) => fetch(new URL(path, url), init);

const ship = async (query: string) => {
  const response = await get(`/ship?order=42&${query}`);
  return (await response.json()) as { by: string; fence: string };
};

say("anna's handler asks to ship order 42; its work would take a minute");
const anna = await ship("by=anna&workMs=60000&early");
say(`it holds the lease with fence ${anna.fence}, has begun, and answers too early:`);
say("the runtime cuts its invocation off, so it renews and releases no more");

say("ben's handler asks to ship the same order, in an invocation of its own, and waits");
const asked = performance.now();
const ben = await ship("by=ben");
const waited = Math.round(performance.now() - asked);
say(`ben took over after ${waited} ms, with fence ${ben.fence}, and shipped`);
assert.equal(ben.by, "ben");
assert.ok(BigInt(ben.fence) > BigInt(anna.fence), "the fence rose");
assert.ok(waited < 4_000, "a lease of two seconds ends after two seconds");

const late = await get(`/write?order=42&fence=${anna.fence}&line=anna+shipped`, { method: "POST" });
say(`anna's late write, under fence ${anna.fence}: ${late.status} ${await late.text()}`);
assert.equal(late.status, 409);

const lines = (await (await get("/ledger?order=42")).json()) as Entry[];
for (const { fence, line } of lines) say(`ledger: fence ${fence}, ${line}`);
assert.deepEqual(
  lines.map(({ line }) => line),
  ["anna began", "ben began", "ben shipped"],
);
say("one holder at a time, and nothing written out of turn");
