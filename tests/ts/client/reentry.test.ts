import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, leaseError, within } from "../support/bench.ts";

const HAD = { reentrant: true, ttlMs: 5_000, maxHoldMs: 60_000 } as const;

test("what is had by re-entry may be asked for on the terms that it was got on", async () => {
  const { clock, host, client } = bench();
  const first = await within(clock, 20, client.acquire("k", HAD));
  const asked = host.requests.length;
  for (const options of [HAD, { reentrant: true }, { ...HAD, renew: "auto", waitMs: 0 }] as const) {
    const again = await within(clock, 0, client.acquire("k", options));
    assert.equal(again.fence, first.fence);
    await within(clock, 0, again.release());
  }
  assert.equal(host.requests.length, asked);
});

for (const [reason, change] of [
  ["ttlMs", { ttlMs: 6_000 }],
  ["maxHoldMs", { maxHoldMs: 100 }],
  ["renew", { renew: "manual" }],
  ["steal", { steal: true }],
] as const) {
  test(`another ${reason} is refused, since re-entry changes nothing`, async () => {
    const { clock, client } = bench();
    const first = await within(clock, 20, client.acquire("k", HAD));
    const again = client.acquire("k", { ...HAD, ...change });
    await assert.rejects(within(clock, 0, again), leaseError("INVALID", { reason }));
    assert.deepEqual(client.heldLeases, [first]);
  });
}

test("a signal that has aborted ends a re-entry as it ends any other wait", async () => {
  const { clock, client } = bench();
  const first = await within(clock, 20, client.acquire("k", HAD));
  const why = new Error("no more");
  const again = client.acquire("k", { ...HAD, signal: AbortSignal.abort(why) });
  await assert.rejects(within(clock, 0, again), (error) => error === why);
  assert.deepEqual(client.heldLeases, [first]);
});
