import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, within } from "../support/bench.ts";

test("a lease is acquired, renewed while it is held, and released", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("order:42", { ttlMs: 1_000 }));
  assert.equal(lease.fence, BigInt(clock.wall()) * 1_000n);
  assert.equal(lease.held, true);
  await clock.advance(5_000);
  assert.equal(lease.held, true);
  const release = lease.release();
  assert.equal(lease.held, false);
  assert.deepEqual(await within(clock, 20, release), { released: true });
  assert.equal(lease.state, "released");
  assert.equal(lease.signal.aborted, false);
  assert.equal(clock.timers, 0);
  assert.equal(host.of("acquire").length, 1);
  assert.equal(host.of("release").length, 1);
  assert.equal(events.at(-1)?.type, "released");
});
