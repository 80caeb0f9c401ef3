import assert from "node:assert/strict";
import { test } from "node:test";
import { BackendError } from "leasehold";
import { bench, follow, leaseError, within } from "../support/bench.ts";

test("validity counts from the winning attempt, not from before the wait", async () => {
  const { clock, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 1_500, renew: "manual" }));
  const acquired = client.acquire("k", { ttlMs: 1_000 });
  const lease = await within(clock, 1_520, acquired);
  assert.ok(lease.remainingMs() > 800 && lease.remainingMs() <= 980, String(lease.remainingMs()));
});

test("an attempt applied but failed is adopted, under the same fence", async () => {
  const { clock, host, client } = bench();
  host.next("acquire", { answer: { error: new Error("reset") } });
  const lease = await within(clock, 500, client.acquire("k", { ttlMs: 5_000 }));
  const [first, second] = host.of("acquire");
  assert.equal(first?.request.op, second?.request.op);
  assert.equal((await within(clock, 20, client.inspect("k")))?.holders[0]?.fence, lease.fence);
  await within(clock, 20, lease.release());
  assert.equal(clock.timers, 0);
});

test("the client timed out, the host applied: no grant is left without a holder", async () => {
  const { clock, host, client, rival } = bench();
  host.next("acquire", { answer: "never" });
  const acquired = follow(client.acquire("k", { ttlMs: 60_000, waitMs: 0 }));
  await clock.advance(10_000);
  const outcome = acquired();
  assert.equal(outcome.status, "rejected");
  assert.ok(outcome.status === "rejected");
  leaseError("UNAVAILABLE", { reason: "no-answer" })(outcome.reason);
  assert.equal(await within(clock, 20, rival().inspect("k")), undefined);
});

for (const [name, error, cancels] of [
  ["certainly never sent", new BackendError("refused", { delivery: "never" }), 0],
  ["perhaps sent", new BackendError("reset", { delivery: "unknown" }), 1],
  ["some error", new TypeError("fetch failed"), 1],
] as const) {
  test(`a failure that was ${name} is taken back ${cancels} times`, async () => {
    const { clock, host, client } = bench();
    host.next("acquire", { deliver: cancels, answer: { error } });
    const acquired = client.acquire("k", { waitMs: 0 });
    await assert.rejects(within(clock, 40, acquired), leaseError("UNAVAILABLE", { cause: error }));
    assert.equal(host.of("cancel").length, cancels);
    assert.equal(clock.timers, 0);
  });
}

test("waitMs 0 makes exactly one attempt, also when the clock ticks", async () => {
  const { clock, host, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 60_000 }));
  const acquired = client.acquire("k", { waitMs: 0 });
  clock.block(7);
  await assert.rejects(
    within(clock, 40, acquired),
    (error) => leaseError("HELD")(error) && (error as { retryAfterMs: number }).retryAfterMs > 0,
  );
  assert.equal(host.of("acquire").length, 1);
});

const SILLY_ANSWERS: readonly unknown[] = [
  null,
  undefined,
  "",
  "granted",
  42,
  [],
  {},
  { v: 1, outcome: "granted" },
  { v: 1, outcome: "granted", lease: 5, fence: 1, ttlMs: "x" },
  { v: 2, outcome: "released" },
  { v: 1, outcome: "released" },
  { v: 1, outcome: "refused", code: "NONE" },
  {
    get outcome() {
      throw new Error("a getter");
    },
  },
];

for (const [index, response] of SILLY_ANSWERS.entries()) {
  test(`an answer that makes no sense is none (${index})`, async () => {
    const { clock, host, client } = bench();
    host.always("*", { answer: { response } });
    const single = follow(client.acquire("a", { waitMs: 0 }));
    const waiting = follow(client.acquire("b", { waitMs: 1_000 }));
    const inspected = follow(client.inspect("c"));
    const revoked = follow(client.revoke("d"));
    await clock.advance(6_100);
    for (const standing of [single, waiting, inspected, revoked]) {
      const outcome = standing();
      assert.ok(outcome.status === "rejected", outcome.status);
      leaseError("UNAVAILABLE")(outcome.reason);
    }
    await clock.advance(10_000);
    assert.equal(clock.timers, 0);
  });
}

test("every promise settles although the host never answers", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("held", { ttlMs: 60_000 }));
  host.always("*", { answer: "never" });
  const promises = [
    client.acquire("a", { waitMs: 1_000 }),
    client.tryAcquire("b"),
    client.run("c", { waitMs: 0 }, () => 1),
    client.inspect("d"),
    client.revoke("e"),
    lease.renew(),
    lease.verify(),
    lease.transfer("x"),
    lease.release(),
  ].map((promise) => follow<unknown>(promise));
  await clock.advance(16_000);
  const pending = [...promises.keys()].filter((at) => promises[at]?.().status === "pending");
  assert.deepEqual(pending, []);
  await clock.advance(10_000);
  assert.equal(clock.timers, 0);
});

test("the first attempt after the term of a dead holder is granted", async () => {
  const { clock, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 1_000, renew: "manual" }));
  await clock.advance(1_000);
  assert.ok(await within(clock, 20, client.tryAcquire("k")));
});

test("held, unavailable and lost do not share a code", async () => {
  const { clock, host, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 60_000, holder: "alice" }));
  const held = client.acquire("k", { waitMs: 0 });
  await assert.rejects(within(clock, 20, held), leaseError("HELD", { holder: "alice" }));
  host.next("acquire", { answer: { error: new Error("down") } });
  await assert.rejects(
    within(clock, 20, client.acquire("k", { waitMs: 0 })),
    leaseError("UNAVAILABLE"),
  );
  const lease = await within(clock, 20, client.acquire("other", { ttlMs: 100, renew: "manual" }));
  await clock.advance(100);
  assert.throws(() => lease.check(), leaseError("LOST"));
});

test("a wait that runs out is TIMEOUT, and leaves the queue", async () => {
  const { clock, host, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 60_000 }));
  const acquired = client.acquire("k", { waitMs: 500 });
  await assert.rejects(within(clock, 600, acquired), leaseError("TIMEOUT"));
  await clock.advance(100);
  assert.equal((await within(clock, 20, client.inspect("k")))?.waiters, 0);
  assert.equal(clock.timers, 2, "the holder's and the host's own");
  assert.ok(host.of("acquire").length <= 2);
});

test("a second acquire that fails leaves the first lease alone", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  assert.equal(await within(clock, 20, client.tryAcquire("k")), undefined);
  assert.equal(lease.held, true);
  assert.deepEqual(client.heldLeases, [lease]);
  assert.deepEqual(await within(clock, 20, lease.release()), { released: true });
  assert.ok(await within(clock, 20, rival().tryAcquire("k")));
});

test("a third party sees holder, fence and what is left", async () => {
  const { clock, client, rival } = bench();
  assert.equal(await within(clock, 20, rival().inspect("k")), undefined);
  const options = { ttlMs: 5_000, holder: "alice" };
  const { fence } = await within(clock, 20, client.acquire("k", options));
  const [info] = (await within(clock, 20, rival().inspect("k")))?.holders ?? [];
  assert.equal(info?.holder, "alice");
  assert.equal(info?.fence, fence);
  assert.ok(info !== undefined && info.remainingMs > 4_900 && info.remainingMs <= 5_000);
});

test("a grant that arrives after its term is given back, not handed out", async () => {
  const { clock, host, client, rival } = bench({ latencyMs: 150 });
  const acquired = follow(client.acquire("k", { ttlMs: 200, waitMs: 0 }));
  await clock.advance(700);
  const outcome = acquired();
  assert.ok(outcome.status === "rejected");
  leaseError("UNAVAILABLE", { reason: "granted-too-late" })(outcome.reason);
  assert.equal(host.of("release").length, 1);
  assert.ok(await within(clock, 300, rival().tryAcquire("k", { ttlMs: 5_000 })));
});

test("within the wait it tries again, and the last grant that is in time wins", async () => {
  const { clock, host, client } = bench();
  host.next("acquire", { toHostMs: 150, toClientMs: 150 });
  const lease = await within(clock, 1_000, client.acquire("k", { ttlMs: 200, waitMs: 2_000 }));
  assert.equal(lease.held, true);
});

test("every request doubled has the effect of one", async () => {
  const { clock, host, client } = bench();
  host.always("*", { deliver: 3 });
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(3_000);
  assert.equal(lease.held, true);
  assert.deepEqual(await within(clock, 20, lease.release()), { released: true });
  const next = await within(clock, 20, client.acquire("k"));
  assert.ok(next.fence > lease.fence);
});
