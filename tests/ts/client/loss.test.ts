import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, fenceAt, follow, leaseError, within } from "../support/bench.ts";

test("loss found after the guarded block, by the first read; one settle, no release storm", async () => {
  const { clock, host, client } = bench();
  let seen: unknown;
  const run = client.run("k", { ttlMs: 200 }, (lease) => {
    clock.block(250);
    seen = [lease.held, lease.signal.aborted, lease.state];
  });
  await assert.rejects(within(clock, 40, run), leaseError("LOST", { reason: "expired" }));
  assert.deepEqual(seen, [false, true, "lost"]);
  assert.ok(host.of("release").length <= 1);
  assert.equal(clock.timers, 0);
});

test("the signal fires by the clock with the renewal still open", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.always("renew", { answer: "never" });
  await clock.advance(860);
  assert.equal(lease.held, true);
  await clock.advance(100);
  assert.equal(lease.signal.aborted, true);
  leaseError("LOST", { reason: "expired", key: "k", fence: fenceAt(10) })(lease.signal.reason);
});

test("a partition ends the lease within one term", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 10_000 }));
  const { signal } = lease;
  let abortedAt = 0;
  signal.addEventListener("abort", () => {
    abortedAt = clock.now;
  });
  host.always("*", { answer: "never" });
  await clock.advance(30_000);
  assert.ok(abortedAt > 9_000 && abortedAt <= 9_890, String(abortedAt));
  assert.equal(events.filter(({ type }) => type === "lost").length, 1);
});

test("a renewal answered after the loss revives nothing", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 5_000 }));
  host.always("renew", {
    toClientMs: 60_000,
    answer: { response: { v: 1, outcome: "renewed", fence: String(fenceAt(10)), ttlMs: 5_000 } },
  });
  await clock.advance(5_000);
  assert.equal(lease.held, false);
  await clock.advance(60_000);
  assert.equal(lease.held, false);
  assert.equal(lease.state, "lost");
  assert.equal(clock.timers, 0);
});

test("in the abort listener the lease is already lost", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.always("renew", { answer: "never" });
  let seen: unknown[] = [];
  let renewed: Promise<void> | undefined;
  lease.signal.addEventListener("abort", () => {
    assert.throws(() => lease.check(), leaseError("LOST"));
    renewed = lease.renew();
    seen = [lease.held, lease.remainingMs(), lease.state];
  });
  await clock.advance(1_000);
  assert.deepEqual(seen, [false, 0, "lost"]);
  assert.ok(renewed);
  await assert.rejects(renewed, leaseError("LOST"));
});

for (const [name, pass] of [
  ["both clocks", "block"],
  ["the wall clock alone", "sleep"],
] as const) {
  test(`after a sleep that ${name} show the first read finds the loss`, async () => {
    const { clock, client } = bench();
    const lease = await within(clock, 20, client.acquire("k", { ttlMs: 30_000 }));
    const { signal } = lease;
    clock[pass](3_600_000);
    assert.equal(lease.held, false);
    assert.equal(signal.aborted, true);
    await clock.advance(0);
    assert.equal(clock.timers, 0);
  });
}

for (const [name, pass] of [
  ["", "block"],
  [" while its monotonic clock stood still", "sleep"],
] as const) {
  test(`work that is thawed after five minutes${name} finds its lease lost at its first look`, async () => {
    const { clock, client, rival } = bench();
    const { promise: frozen, resolve: thaw } = Promise.withResolvers<void>();
    const seen: unknown[] = [];
    const ran = client.run("k", { ttlMs: 30_000 }, async (lease) => {
      seen.push(lease.fence);
      await frozen;
      seen.push(lease.held, lease.signal.aborted);
      lease.check();
    });
    await clock.advance(20);
    clock[pass](300_000);
    thaw();
    await assert.rejects(within(clock, 20, ran), leaseError("LOST", { reason: "expired" }));
    const [fence, ...found] = seen;
    assert.deepEqual(found, [false, true]);
    // The host has stood still as well, by the same clock.
    const next = await within(clock, 30_100, rival().acquire("k", { waitMs: 60_000 }));
    assert.ok(next.fence > (fence as bigint));
  });
}

test("whoever awaited the client finds the signal aborted when it goes on", async () => {
  const { clock, client } = bench({ latencyMs: 0 });
  const lease = await within(clock, 0, client.acquire("k", { ttlMs: 1_000 }));
  const { signal } = lease;
  const inspected = client.inspect("k").then(() => signal.aborted);
  clock.block(1_300);
  assert.equal(await within(clock, 0, inspected), true);
});

test("a blocked event loop does not keep a lease alive", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  clock.block(1_300);
  assert.equal(lease.held, false);
  assert.throws(() => lease.check(), leaseError("LOST", { reason: "expired" }));
  assert.equal(lease.remainingMs(), 0);
});

test("renewing a lease that is over recreates nothing", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 100, renew: "manual" }));
  clock.block(150);
  const renewed = lease.renew();
  await assert.rejects(within(clock, 100, renewed), leaseError("LOST"));
  assert.equal(await within(clock, 20, client.inspect("k")), undefined);
});

test("three failed renewals are told, and cost nothing", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 10_000 }));
  const refused = new Error("connection refused");
  const failure = { answer: { error: refused } };
  host.next("renew", failure, failure, failure);
  const told: { remainingMs: number; cause: unknown }[] = [];
  lease.addEventListener("renewfailed", ({ remainingMs, error }) => {
    told.push({ remainingMs, cause: error.cause });
  });
  await clock.advance(9_000);
  assert.equal(told.length, 3);
  assert.ok(told.every(({ remainingMs, cause }) => remainingMs > 0 && cause === refused));
  assert.equal(lease.held, true);
  assert.equal(lease.signal.aborted, false);
  await clock.advance(20_000);
  assert.equal(lease.held, true);
});

test("every renewal fails: failures are told, then one loss", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.always("renew", { answer: { error: new Error("down") } });
  await clock.advance(980);
  assert.equal(lease.held, false);
  await clock.advance(10_000);
  const types = events.map(({ type }) => type);
  assert.ok(types.includes("renewfailed"));
  assert.ok(types.includes("jeopardy"));
  assert.equal(types.filter((type) => type === "lost").length, 1);
  assert.equal(types.at(-1), "lost");
});

test("the deadline is armed before acquire settles", async () => {
  const { clock, client } = bench();
  const standing = follow(client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(20);
  const outcome = standing();
  assert.equal(outcome.status, "fulfilled");
  clock.block(1_000);
  assert.ok(outcome.status === "fulfilled" && !outcome.value.held);
});

test("a lost lease says nothing any more, and gives back what the host may have renewed", async () => {
  const { clock, host, client, events } = bench();
  await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.always("*", { answer: "never" });
  await clock.advance(940);
  const [requests, told] = [host.requests.length, events.length];
  await clock.advance(100_000);
  const after = host.requests.slice(requests).map(({ request }) => request);
  assert.ok(after.length <= 3, String(after.length));
  assert.ok(after.every(({ operation, op }) => operation === "release" && op === after[0]?.op));
  assert.equal(events.length, told);
  assert.equal(clock.timers, 0);
});

test("after a loss the same client acquires again, with a higher fence", async () => {
  const { clock, client } = bench();
  const first = await within(clock, 20, client.acquire("k", { ttlMs: 1_000, renew: "manual" }));
  await clock.advance(1_100);
  assert.equal(first.state, "lost");
  const second = await within(clock, 20, client.acquire("k"));
  assert.ok(second.fence > first.fence);
});

test("the holder that blocked is told no, while another holds a higher fence", async () => {
  const { clock, client, rival } = bench();
  const stale = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const next = follow(rival().acquire("k"));
  await clock.advance(30);
  clock.block(1_300);
  await clock.advance(40);
  const outcome = next();
  assert.ok(outcome.status === "fulfilled" && outcome.value.fence > stale.fence);
  assert.throws(() => stale.check(), leaseError("LOST"));
});

test("with the clock frozen the lease seems held; verify() finds out", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  clock.freeze();
  clock.block(2_000);
  assert.equal(lease.held, true);
  await assert.rejects(within(clock, 20, lease.verify()), leaseError("LOST"));
  assert.equal(lease.held, false);
});

test("a partition that heals just too late changes nothing", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 10_000 }));
  host.always("*", { answer: { error: new Error("partition") }, deliver: 0 });
  await clock.advance(9_880);
  assert.equal(lease.held, false);
  host.restore();
  await clock.advance(10_000);
  assert.equal(lease.state, "lost");
});

test("jeopardy is told when renewals fail, safe when they work again", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 3_000 }));
  host.always("renew", { answer: { error: new Error("down") } });
  await clock.advance(2_100);
  assert.equal(
    events.at(-1)?.type === "jeopardy" || events.some((e) => e.type === "jeopardy"),
    true,
  );
  host.restore("renew");
  await clock.advance(600);
  const types = events.map(({ type }) => type);
  assert.ok(types.indexOf("safe") > types.indexOf("jeopardy"));
  assert.equal(lease.held, true);
});

test("a revoked lease is lost at its next renewal, for that reason", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 3_000 }));
  assert.equal(await within(clock, 20, rival().revoke("k")), true);
  await clock.advance(1_200);
  assert.equal(lease.state, "lost");
  leaseError("LOST", { reason: "revoked" })(lease.signal.reason);
});
