import assert from "node:assert/strict";
import { test } from "node:test";
import type { LeaseHandle } from "leasehold";
import { bench, fenceAt, follow, leaseError, within } from "../support/bench.ts";

test("a lease travels as JSON and is carried on elsewhere", async () => {
  const { clock, client, rival } = bench();
  const first = await within(clock, 20, client.acquire("k", { ttlMs: 5_000, holder: "step" }));
  const handle = first.detach();
  assert.equal(first.held, false, "before anybody has resumed it");
  const text = JSON.stringify(handle);
  const other = rival();
  const second = await within(clock, 20, other.resume(JSON.parse(text) as LeaseHandle));
  assert.equal(second.key, "k");
  assert.equal(second.holder, "step");
  assert.ok(second.fence > first.fence);
  await clock.advance(20_000);
  assert.equal(second.held, true);
  assert.notEqual(second.detach().id, handle.id);
  assert.deepEqual(await within(clock, 20, second.release()), { released: true });
});

test("of two that resume a handle exactly one gets it", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 5_000 }));
  const handle = await within(clock, 20, lease.transfer("next"));
  assert.equal(lease.state, "transferred");
  assert.equal(lease.signal.aborted, false);
  assert.equal(handle.holder, "next");
  assert.equal(BigInt(handle.fence), fenceAt(30));
  const both = [follow(rival().resume(handle)), follow(rival().resume(handle))];
  await clock.advance(20);
  const outcomes = both.map((standing) => standing());
  assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  const loser = outcomes.find(({ status }) => status === "rejected");
  assert.ok(loser?.status === "rejected");
  leaseError("LOST", { key: "k" })(loser.reason);
  assert.equal((await within(clock, 20, client.inspect("k")))?.holders[0]?.holder, "next");
});

test("after a transfer the giver is inert, in quiet", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const transferred = lease.transfer("next");
  assert.equal(lease.held, false);
  await within(clock, 20, transferred);
  await assert.rejects(lease.renew(), leaseError("LOST", { reason: "transferred" }));
  assert.deepEqual(await lease.release(), { released: false, reason: "transferred" });
  await clock.advance(10_000);
  assert.equal(host.requests.length, 2);
  assert.ok(events.every(({ type }) => type !== "lost"));
});

test("a transfer that the host refuses leaves the lease with its holder", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const denied = { code: "DENIED", reason: "scope", message: "" };
  host.next("transfer", {
    deliver: 0,
    answer: { response: { v: 1, outcome: "refused", ...denied } },
  });
  await assert.rejects(within(clock, 20, lease.transfer("next")), leaseError("DENIED"));
  assert.equal(lease.state, "held");
  await clock.advance(5_000);
  assert.equal(lease.held, true);
});

test("a release during a transfer waits for it", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const transferred = lease.transfer("next");
  const released = lease.release();
  assert.equal((await within(clock, 20, transferred)).holder, "next");
  assert.deepEqual(await released, { released: false, reason: "transferred" });
  assert.equal(host.of("release").length, 0);
});

test("a transfer without an answer loses the lease here", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  host.always("transfer", { answer: "never" });
  await assert.rejects(within(clock, 6_000, lease.transfer("next")), leaseError("UNAVAILABLE"));
  assert.equal(lease.state, "lost");
  assert.equal(lease.signal.aborted, true);
});

test("a detached lease renews no more and lapses by its term, unless it is resumed", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(80);
  lease.detach();
  assert.equal(lease.state, "detached");
  assert.equal(lease.held, false);
  assert.equal(lease.remainingMs(), 0);
  assert.throws(() => lease.check(), leaseError("LOST", { reason: "detached" }));
  await assert.rejects(lease.renew(), leaseError("LOST", { reason: "detached" }));
  assert.deepEqual(client.heldLeases, []);
  assert.equal(lease.signal.aborted, false);
  await clock.advance(880);
  assert.equal(lease.signal.aborted, true);
  assert.equal(host.of("renew").length, 0);
  assert.equal(host.of("release").length, 0);
});

for (const [name, change] of [
  ["another version", { v: 2 }],
  ["an id that is none", { id: "5" }],
  ["a fence that is a number", { fence: 5 }],
  ["no key", { key: undefined }],
  ["no holder", { holder: undefined }],
  ["a term that is none", { ttlMs: Number.NaN }],
] as const) {
  test(`a handle with ${name} is INVALID before any I/O`, async () => {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire("k"));
    const handle = { ...lease.detach(), ...change } as unknown as LeaseHandle;
    await assert.rejects(client.resume(handle), leaseError("INVALID"));
    assert.equal(host.requests.length, 1);
  });
}

test("what is no handle at all is INVALID", async () => {
  const { client } = bench();
  for (const value of [null, undefined, "x", 5]) {
    await assert.rejects(client.resume(value as unknown as LeaseHandle), leaseError("INVALID"));
  }
});

test("a client's own name is random and the same for all its leases", async () => {
  const { clock, client, rival } = bench();
  const [a, b] = [
    await within(clock, 20, client.acquire("a")),
    await within(clock, 20, client.acquire("b")),
  ];
  const c = await within(clock, 20, rival().acquire("c"));
  assert.equal(a.holder, b.holder);
  assert.notEqual(a.holder, c.holder);
});
