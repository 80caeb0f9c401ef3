import "../support/started-wasm.ts";
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";
import { bench, follow, leaseError, within } from "../support/bench.ts";
import { wasmOf } from "../support/started-wasm.ts";

bench();
const holder = wasmOf("Holder");
const sound = { ...holder };

const trap = () => {
  throw new Error("unreachable");
};

afterEach(() => {
  Object.assign(holder, sound);
});

test("a trap while a lease is held is a loss, told at once", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const released = () => lease.release();
  holder.holder_step = trap;
  await clock.advance(400);
  assert.equal(lease.state, "lost");
  leaseError("LOST", { reason: "internal-error" })(lease.signal.reason);
  assert.deepEqual(await released(), { released: false, reason: "internal-error" });
  await clock.advance(2_000);
  assert.equal(clock.timers, 0);
});

test("a trap while a lease is sought fails the acquire", async () => {
  const { clock, client } = bench();
  const acquired = client.acquire("k");
  holder.holder_step = trap;
  await assert.rejects(
    within(clock, 20, acquired),
    leaseError("UNAVAILABLE", { reason: "internal-error" }),
  );
});

test("a trap in a call fails that call and whatever else is awaited", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const verified = follow(lease.verify());
  holder.holder_step = trap;
  const renewed = follow(lease.renew());
  await clock.advance(10);
  for (const standing of [verified, renewed]) {
    const outcome = standing();
    assert.ok(outcome.status === "rejected");
    leaseError("UNAVAILABLE", { reason: "internal-error" })(outcome.reason);
  }
  assert.equal(lease.held, false);
});
