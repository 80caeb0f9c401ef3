import assert from "node:assert/strict";
import { test } from "node:test";
import { type Lease, type LeaseBackend, LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";
import { ScriptedBackend, TestClock } from "leasehold/testing";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { bench, fenceAt, follow, leaseError, within } from "../support/bench.ts";

test("a release whose answer was lost is through at the second try", async () => {
  const { clock, host, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 60_000 }));
  host.next("release", { answer: { error: new Error("reset") } });
  const result = await within(clock, 300, lease.release());
  assert.equal(typeof result.released, "boolean");
  assert.ok(await within(clock, 20, rival().tryAcquire("k")));
  const [first, second] = host.of("release");
  assert.equal(first?.request.op, second?.request.op);
});

test("releasing a lease that is over resolves at once, with at most one request", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  clock.block(1_100);
  const result = await within(clock, 20, lease.release());
  assert.deepEqual(result, { released: false, reason: "expired" });
  assert.ok(host.of("release").length <= 1);
});

test("a renewal in flight arms nothing after the release", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.next("renew", { toHostMs: 200, toClientMs: 200 });
  await clock.advance(366);
  assert.ok(host.of("renew").length > 0);
  await within(clock, 20, lease.release());
  const sent = host.requests.length;
  assert.equal(host.requests.at(-1)?.request.operation, "release");
  await clock.advance(5_000);
  assert.equal(host.requests.length, sent);
  assert.equal(clock.timers, 0);
});

test("acquire and release back to back: nothing is renewed afterwards", async () => {
  const { clock, host, client } = bench();
  const released = client.acquire("k", { ttlMs: 1_000 }).then((lease) => lease.release());
  assert.deepEqual(await within(clock, 40, released), { released: true });
  await clock.advance(10_000);
  assert.equal(host.of("renew").length, 0);
  assert.equal(clock.timers, 0);
});

test("random interleavings of renew, release and dispose leave the key free", async () => {
  const next = seededRandom(1);
  const random = (below: number) => Math.floor(next() * below);
  for (let round = 0; round < 300; round += 1) {
    const { clock, host, client, rival } = bench();
    const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
    const lost = { answer: { error: new Error("lost") } };
    const promises: Promise<unknown>[] = [];
    const steps = [
      () => lease.renew(),
      () => lease.verify(),
      () => lease.release(),
      () => lease[Symbol.asyncDispose](),
      () => lease.renew({ ttlMs: 500 + random(1_000) }),
    ];
    for (let step = 0; step < 6; step += 1) {
      const kind = random(4);
      for (const operation of ["renew", "release", "verify"] as const) {
        if (kind === 1) {
          host.next(operation, { ...lost, deliver: random(2) });
        } else if (kind === 2) {
          host.next(operation, { toHostMs: random(100), toClientMs: random(100), deliver: 2 });
        }
      }
      const act = steps[random(steps.length)];
      if (act !== undefined) {
        promises.push(act());
      }
      await clock.advance(random(60));
    }
    promises.push(lease.release());
    const standings = promises.map((promise) => follow(promise));
    await clock.advance(7_000);
    assert.ok(
      standings.every((standing) => standing().status !== "pending"),
      `round ${round}`,
    );
    assert.equal(clock.timers, 0, `round ${round}`);
    assert.equal(await within(clock, 20, rival().inspect("k")), undefined, `round ${round}`);
  }
});

test("release beats a renewal: no loss, no rejection", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.next("renew", { toHostMs: 100 });
  await clock.advance(345);
  await within(clock, 20, lease.release());
  await clock.advance(1_000);
  assert.equal(lease.state, "released");
  assert.equal(lease.signal.aborted, false);
  assert.ok(events.every(({ type }) => type !== "lost" && type !== "renewfailed"));
});

test("releasing twice, in turn and at once, is one request with one result", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const both = Promise.all([lease.release(), lease.release()]);
  assert.deepEqual(await within(clock, 20, both), [{ released: true }, { released: true }]);
  assert.deepEqual(await lease.release(), { released: true });
  assert.equal(host.of("release").length, 1);
});

test("dispose awaits the release that is under way", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const disposed = follow(
    (async () => {
      await using held = lease;
      void held.release();
    })(),
  );
  await clock.advance(10);
  assert.equal(disposed().status, "pending");
  await clock.advance(10);
  assert.equal(disposed().status, "fulfilled");
  assert.equal(host.of("release").length, 1);
});

test("the body's error wins over the release's, its value survives it", async () => {
  const { clock, host, client, events } = bench();
  const down = { code: "UNAVAILABLE", reason: "read-only", message: "READONLY" };
  host.always("release", { answer: { response: { v: 1, outcome: "refused", ...down } } });
  const mine = new TypeError("mine");
  const failing = client.run("a", () => Promise.reject(mine));
  await assert.rejects(within(clock, 100, failing), mine);
  assert.equal(
    await within(
      clock,
      100,
      client.run("b", () => "value"),
    ),
    "value",
  );
  assert.equal(events.filter(({ type }) => type === "releasefailed").length, 2);
});

test("run() settles only after the body has, with LOST", async () => {
  const { clock, host, client } = bench();
  host.always("renew", { answer: "never" });
  let signalled = false;
  const run = follow(
    client.run("k", { ttlMs: 1_000 }, async (lease) => {
      lease.signal.addEventListener("abort", () => {
        signalled = true;
      });
      await new Promise<void>((resolve) => {
        clock.setTimeout(resolve, 3_000);
      });
    }),
  );
  await clock.advance(2_000);
  assert.equal(signalled, true);
  assert.equal(run().status, "pending");
  await clock.advance(1_100);
  const outcome = run();
  assert.ok(outcome.status === "rejected");
  leaseError("LOST", { reason: "expired" })(outcome.reason);
});

test("a body that throws the loss itself rejects with that very error", async () => {
  const { clock, host, client } = bench();
  host.always("renew", { answer: "never" });
  let reason: unknown;
  const run = client.run("k", { ttlMs: 1_000 }, (lease) => {
    clock.block(2_000);
    reason = lease.signal.reason;
    lease.check();
  });
  await assert.rejects(within(clock, 100, run), (error) => error === reason);
  leaseError("LOST")(reason);
});

test("a body that fails for its own reason after a loss rejects with its own error", async () => {
  const { clock, client } = bench();
  const mine = new Error("mine");
  const run = client.run("k", { ttlMs: 1_000 }, () => {
    clock.block(2_000);
    throw mine;
  });
  await assert.rejects(within(clock, 100, run), mine);
});

test("a host that refuses the release: it is not held here, and the result says why", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const down = { code: "UNAVAILABLE", reason: "read-only", message: "READONLY" };
  host.always("release", { answer: { response: { v: 1, outcome: "refused", ...down } } });
  const { cause, ...result } = await within(clock, 20, lease.release());
  assert.deepEqual(result, { released: false, reason: "read-only" });
  leaseError("UNAVAILABLE", { reason: "read-only" })(cause);
  assert.equal(lease.held, false);
  const last = events.at(-1);
  assert.ok(last?.type === "releasefailed");
  leaseError("UNAVAILABLE")(last.error);
});

test("a failed renewal releases nothing", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.next("renew", { answer: { error: new Error("reset") } });
  await clock.advance(580);
  assert.equal(lease.held, true);
  assert.equal(host.of("release").length, 0);
  assert.equal(host.of("renew").length, 2);
});

test("run() releases once, whatever it takes", async () => {
  const { clock, host, client } = bench();
  const failure = { answer: { error: new Error("reset") } };
  host.next("release", failure, failure);
  await within(
    clock,
    2_000,
    client.run("k", () => undefined),
  );
  const ops = new Set(host.of("release").map(({ request }) => request.op));
  assert.equal(ops.size, 1);
  assert.equal(host.of("release").length, 3);
});

test("the release outlives the handler", async () => {
  const outliving: Promise<unknown>[] = [];
  const { clock, client } = bench({ waitUntil: (promise) => outliving.push(promise) });
  const lease = await within(clock, 20, client.acquire("k"));
  void lease.release();
  assert.equal(outliving.length, 1);
  const done = follow(outliving[0] as Promise<unknown>);
  await clock.advance(20);
  assert.equal(done().status, "fulfilled");
});

test("a run() in which the lease was detached or handed over does not release it", async () => {
  const { clock, host, client } = bench();
  const handle = await within(
    clock,
    100,
    client.run("a", (lease) => lease.detach()),
  );
  assert.equal(handle.key, "a");
  await within(
    clock,
    100,
    client.run("b", (lease) => lease.transfer("next")),
  );
  assert.equal(host.of("release").length, 0);
});

test("listeners that call back in leave nothing torn", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const promises: Promise<unknown>[] = [];
  const seen: boolean[] = [];
  lease.addEventListener("renewed", () => {
    promises.push(lease.verify(), lease.renew());
    seen.push(lease.held);
    promises.push(lease.release());
    seen.push(lease.held);
  });
  void host;
  await clock.advance(2_000);
  assert.deepEqual(seen.slice(0, 2), [true, false]);
  await Promise.allSettled(promises);
  assert.equal(lease.state, "released");
  assert.equal(clock.timers, 0);
});

test("a host that calls back in while it is called leaves nothing torn", async () => {
  const clock = new TestClock();
  const inner = memory({ clock });
  let lease: Lease | undefined;
  const host: LeaseBackend = {
    capabilities: inner.capabilities,
    call(request, options) {
      if (lease?.held && request.operation === "renew") {
        void lease.release();
      }
      return inner.call(request, options);
    },
  };
  const client = new LeaseClient(host, { clock });
  lease = await within(clock, 0, client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(2_000);
  assert.equal(lease.state, "released");
  assert.equal(clock.timers, 0);
});

test("a lease that has ended answers every call with a typed error or a value", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  await within(clock, 20, lease.release());
  await assert.rejects(lease.renew(), leaseError("LOST", { reason: "released" }));
  await assert.rejects(lease.verify(), leaseError("LOST", { reason: "released" }));
  await assert.rejects(lease.transfer("x"), leaseError("LOST", { reason: "released" }));
  assert.throws(() => lease.detach(), leaseError("LOST", { reason: "released" }));
  assert.throws(() => lease.check(), leaseError("LOST", { reason: "released" }));
  assert.equal(lease.remainingMs(), 0);
  assert.deepEqual(lease.toJSON(), {
    key: "k",
    fence: String(fenceAt(10)),
    slot: 0,
    state: "released",
    remainingMs: 0,
  });
});

test("listeners, onEvent and waitUntil that throw break nothing", async () => {
  const complaints: unknown[] = [];
  const { error } = console;
  console.error = (...args: unknown[]) => void complaints.push(args);
  try {
    const clock = new TestClock();
    const host = new ScriptedBackend(memory({ clock }), { clock });
    const oops = () => {
      throw new Error("oops");
    };
    const client = new LeaseClient(host, { clock, onEvent: oops, waitUntil: oops });
    const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
    await clock.advance(3_000);
    assert.equal(lease.held, true);
    assert.deepEqual(await within(clock, 20, lease.release()), { released: true });
    assert.equal(clock.timers, 0);
    assert.ok(complaints.length > 0);
  } finally {
    console.error = error;
  }
});
