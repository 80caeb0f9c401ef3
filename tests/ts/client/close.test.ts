import assert from "node:assert/strict";
import { test } from "node:test";
import { bench, follow, leaseError, within } from "../support/bench.ts";

const closed = leaseError("INVALID", { reason: "closed" });

test("closing releases what is held and cuts waits short", async () => {
  const { clock, host, client, rival } = bench();
  await within(clock, 20, rival().acquire("busy"));
  const leases = [
    await within(clock, 20, client.acquire("a")),
    await within(clock, 20, client.acquire("b")),
  ];
  const waiting = client.acquire("busy", { waitMs: 60_000 });
  follow(waiting);
  await clock.advance(100);
  const closing = client.close();
  assert.deepEqual(
    leases.map(({ held }) => held),
    [false, false],
  );
  await assert.rejects(waiting, closed);
  assert.deepEqual(await within(clock, 40, closing), { released: ["a", "b"], unconfirmed: [] });
  assert.equal(client.heldLeases.length, 0);
  assert.equal((await within(clock, 20, rival().inspect("busy")))?.waiters, 0);
  for (const key of ["a", "b"]) {
    assert.equal(await within(clock, 20, rival().inspect(key)), undefined);
  }
  const sent = host.requests.length;
  await clock.advance(60_000);
  assert.equal(host.requests.length, sent, "a closed client is silent");
});

test("a closed client refuses every call before anything is sent", async () => {
  const { clock, host, client, rival } = bench();
  const handle = (await within(clock, 20, rival().acquire("k"))).detach();
  await within(clock, 20, client.close());
  const calls = [
    client.acquire("a"),
    client.tryAcquire("a"),
    client.run("a", () => {}),
    client.acquireAll(["a"]),
    client.runAll(["a"], () => {}),
    client.resume(handle),
    client.inspect("a"),
    client.revoke("a"),
  ];
  for (const outcome of await within(clock, 0, Promise.allSettled(calls))) {
    assert.ok(outcome.status === "rejected" && closed(outcome.reason));
  }
  assert.equal(host.requests.length, 0);
});

test("a detached lease is left to whoever resumes it", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const handle = lease.detach();
  assert.deepEqual(await within(clock, 20, client.close()), { released: [], unconfirmed: [] });
  assert.ok((await within(clock, 20, rival().resume(handle))).held);
});

test("a lease that is being handed over goes to its successor", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const transferred = lease.transfer("next");
  const closing = client.close();
  assert.deepEqual(await within(clock, 20, closing), { released: [], unconfirmed: [] });
  assert.ok((await within(clock, 20, rival().resume(await transferred))).held);
});

for (const [when, ms] of [
  ["before the host has it", 250],
  ["while it is taken back", 1_000],
] as const) {
  test(`a lease handed over for nobody is taken back by closing the client ${when}`, async () => {
    const { clock, client, rival } = bench({ latencyMs: 300 });
    const lease = await within(clock, 600, client.acquire("k"));
    await assert.rejects(
      within(clock, 100, lease.transfer("next", { timeoutMs: 100 })),
      leaseError("UNAVAILABLE"),
    );
    await clock.advance(ms - 100);
    const closing = client.close();
    assert.deepEqual(await within(clock, 2_000, closing), { released: ["k"], unconfirmed: [] });
    assert.ok(await within(clock, 600, rival().tryAcquire("k")), "the key is free");
  });
}

for (const [what, behaviour, released] of [
  ["refuses", { response: { v: 1, outcome: "refused", code: "DENIED", reason: "no-right" } }, true],
  ["does not answer", "never", false],
] as const) {
  test(`a transfer that the host ${what} is told when the client closes`, async () => {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire("k"));
    host.always("transfer", { deliver: 0, answer: behaviour });
    const transferred = follow(lease.transfer("next"));
    const closing = client.close();
    assert.deepEqual(await within(clock, 30_000, closing), {
      released: released ? ["k"] : [],
      unconfirmed: released ? [] : ["k"],
    });
    assert.equal(transferred().status, "rejected");
  });
}

test("what the host has not confirmed is told apart, within the caller's time", async () => {
  const { clock, host, client } = bench();
  await within(clock, 20, client.acquire("a"));
  await within(clock, 20, client.acquire("b"));
  host.next("release", {}, { answer: "never" }).always("release", { answer: "never" });
  const closing = client.close({ timeoutMs: 500 });
  const standing = follow(closing);
  await clock.advance(490);
  assert.equal(standing().status, "pending");
  assert.deepEqual(await within(clock, 10, closing), { released: ["a"], unconfirmed: ["b"] });
});

test("without a limit of the caller's the release is given up by itself", async () => {
  const { clock, host, client } = bench();
  await within(clock, 20, client.acquire("a"));
  host.always("release", { answer: "never" });
  const closing = client.close();
  assert.deepEqual(await within(clock, 5_000, closing), { released: [], unconfirmed: ["a"] });
});

test("closing waits for a grant in flight to be taken back", async () => {
  const { clock, host, client, rival } = bench();
  const asked = client.acquire("k");
  follow(asked);
  await clock.advance(15);
  const closing = client.close();
  await assert.rejects(asked, closed);
  assert.deepEqual(await within(clock, 40, closing), { released: [], unconfirmed: [] });
  assert.equal(host.of("cancel").length, 1);
  assert.equal(await within(clock, 20, rival().inspect("k")), undefined);
});

test("each that closes a client waits for as long as it allows itself", async () => {
  const { clock, host, client } = bench();
  await within(clock, 20, client.acquire("a"));
  host.always("release", { answer: "never" });
  const first = follow(client.close());
  const outcome = { released: [], unconfirmed: ["a"] };
  assert.deepEqual(await within(clock, 50, client.close({ timeoutMs: 50 })), outcome);
  assert.equal(first().status, "pending");
  await clock.advance(5_000);
  assert.equal(first().status, "fulfilled");
});

test("closing ends a watch that asks, and one that rests before it asks again", async () => {
  for (const behaviour of [
    { answer: "never" },
    { answer: { error: new Error("reset") } },
  ] as const) {
    const { clock, host, client } = bench();
    host.always("watch", behaviour);
    const next = follow(client.watch("k")[Symbol.asyncIterator]().next());
    await clock.advance(9_000);
    follow(client.close());
    await clock.settle();
    const standing = next();
    assert.ok(standing.status === "rejected" && closed(standing.reason));
  }
});

test("closing twice is closing once; a client in `await using` is closed at the end", async () => {
  const { clock, host, client } = bench();
  await within(clock, 20, client.acquire("k"));
  const [first, second] = await within(clock, 40, Promise.all([client.close(), client.close()]));
  assert.deepEqual(first, second);
  const disposed = client[Symbol.asyncDispose]();
  assert.equal(await within(clock, 40, disposed), undefined);
  assert.equal(host.of("release").length, 1);
});

test("a run that is under way finds its lease released, and rejects with what its work threw", async () => {
  const { clock, client } = bench();
  const ran = client.run("k", async (lease) => {
    await new Promise((resolve) => clock.setTimeout(() => resolve(undefined), 1_000));
    lease.check();
  });
  follow(ran);
  await clock.advance(100);
  await within(clock, 40, client.close());
  await assert.rejects(within(clock, 1_000, ran), leaseError("LOST", { reason: "released" }));
});
