import assert from "node:assert/strict";
import { test } from "node:test";
import { testLeases } from "leasehold/testing";
import { leaseError } from "../support/bench.ts";

test("hold: somebody else has the key until that lease is released", async () => {
  const { leases, hold } = testLeases();
  const theirs = await hold("a");
  assert.equal(await leases.tryAcquire("a"), undefined);
  await assert.rejects(hold("a"), leaseError("HELD"));
  await theirs.release();
  assert.equal((await leases.tryAcquire("a"))?.held, true);
});

for (const latencyMs of [0, 500]) {
  test(`lose: the signal has aborted when it is done, at ${latencyMs} ms one way`, async () => {
    const { leases, clock, lose } = testLeases({ latencyMs });
    const acquired = leases.acquire("a", { ttlMs: 30_000 });
    await clock.advance(2 * latencyMs);
    const lease = await acquired;
    await lose(lease);
    assert.equal(lease.state, "lost");
    leaseError("LOST")(lease.signal.reason);
    assert.equal(clock.now, 4 * latencyMs);
  });
}

test("lose: others who share the key keep their leases", async () => {
  const { leases, lose } = testLeases();
  const options = { mode: "shared" } as const;
  const [one, other] = [await leases.acquire("a", options), await leases.acquire("a", options)];
  await lose(one);
  assert.equal(one.state, "lost");
  await other.verify();
  assert.equal(other.state, "held");
});

test("lose: a holder that no answer reaches learns of it when its term ends", async () => {
  const { leases, clock, host, lose } = testLeases();
  const lease = await leases.acquire("a", { ttlMs: 30_000 });
  host.always("*", { answer: "never" });
  await lose(lease);
  assert.equal(lease.state, "lost");
  assert.ok(clock.now > 29_000 && clock.now <= 30_000, `${clock.now} ms`);
});

test("a test that waits while its clock stands still is told so, once", async (t) => {
  const { leases, clock } = testLeases({ latencyMs: 10 });
  const { promise: told, resolve: tell } = Promise.withResolvers<string>();
  const warn = t.mock.method(console, "warn", tell);
  const acquired = leases.acquire("a");
  const text = await told;
  assert.match(text, /"acquire" has been under way/);
  assert.match(text, /clock\.advance/);
  await clock.advance(20);
  assert.equal((await acquired).held, true);
  assert.equal(warn.mock.callCount(), 1);
});

test("nothing of the watch is left once a request is answered", async () => {
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
  const before = timers();
  const { leases, clock } = testLeases({ latencyMs: 10 });
  const acquired = leases.acquire("a");
  assert.equal(timers(), before + 1);
  await clock.advance(20);
  await acquired;
  assert.equal(timers(), before);
});
