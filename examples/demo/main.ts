/**
 * The main job, on the real runtime: two handlers want the same order. One gets the lease and is
 * killed in the middle of its work; the other takes over; the dead one's late write is refused.
 *
 * Run with `cargo xtask demo`.
 */

import assert from "node:assert/strict";
import type { Entry } from "../workers/src/ledger.ts";
import { Workers } from "../../tests/ts/workerd/harness.ts";

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
const ledger = async () => (await (await get("/ledger?order=42")).json()) as Entry[];

say("anna's handler asks to ship order 42; its work would take a minute");
const kill = new AbortController();
const anna = get("/ship?order=42&by=anna&workMs=60000", { signal: kill.signal }).then(
  () => assert.fail("anna's handler was not cut off"),
  () => undefined,
);
let began: Entry | undefined;
while (began === undefined) [began] = await ledger();
say(`anna holds the lease with fence ${began.fence} and has written "${began.line}"`);

say("ben's handler asks to ship the same order, in an invocation of its own, and waits");
const asked = performance.now();
const ben = get("/ship?order=42&by=ben");
await new Promise((wake) => setTimeout(wake, 500));

say("anna's handler is killed: it never releases");
kill.abort();
await anna;

const shipped = (await (await ben).json()) as { by: string; fence: string };
say(`ben took over after ${Math.round(performance.now() - asked)} ms, with fence ${shipped.fence}, and shipped`);
assert.equal(shipped.by, "ben");
assert.ok(BigInt(shipped.fence) > BigInt(began.fence), "the fence rose");

const late = await get(`/write?order=42&fence=${began.fence}&line=anna+shipped`, { method: "POST" });
say(`anna's late write, under fence ${began.fence}: ${late.status} ${await late.text()}`);
assert.equal(late.status, 409);

const lines = await ledger();
for (const { fence, line } of lines) say(`ledger: fence ${fence}, ${line}`);
assert.deepEqual(
  lines.map(({ line }) => line),
  ["anna began", "ben began", "ben shipped"],
);
say("one holder at a time, and nothing written out of turn");
