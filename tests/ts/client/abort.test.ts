import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";
import { bench, follow, leaseError, within } from "../support/bench.ts";

const reason = new Error("the caller went away");

test("abort rejects at once; a grant that comes later is taken back", async () => {
  const { clock, host, client, rival } = bench();
  host.next("acquire", { toHostMs: 75, toClientMs: 75 });
  const controller = new AbortController();
  const acquired = follow(client.acquire("k", { ttlMs: 60_000, signal: controller.signal }));
  await clock.advance(30);
  controller.abort(reason);
  await clock.settle();
  assert.deepEqual(acquired(), { status: "rejected", reason });
  await clock.advance(200);
  assert.ok(await within(clock, 20, rival().tryAcquire("k")));
});

test("of 200 waiters 190 abort: the rest are served, in order", async () => {
  const { clock, client, rival } = bench();
  const first = await within(clock, 20, rival().acquire("k", { ttlMs: 60_000 }));
  const controllers: AbortController[] = [];
  const order: number[] = [];
  for (let index = 0; index < 200; index += 1) {
    const controller = new AbortController();
    controllers.push(controller);
    const options = { waitMs: 60_000, ttlMs: 10_000, signal: controller.signal };
    client.run("k", options, () => void order.push(index)).catch(() => {});
  }
  await clock.advance(100);
  for (const [index, controller] of controllers.entries()) {
    if (index % 20 !== 7) {
      controller.abort(reason);
    }
  }
  await clock.advance(40);
  assert.equal((await within(clock, 20, client.inspect("k")))?.waiters, 10);
  void first.release();
  await clock.advance(1_000);
  assert.deepEqual(order, [7, 27, 47, 67, 87, 107, 127, 147, 167, 187]);
});

test("an aborted acquire leads to no lease and no loss", async () => {
  const { clock, client, events, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 60_000 }));
  const controller = new AbortController();
  const acquired = client.acquire("k", { signal: controller.signal });
  await clock.advance(100);
  controller.abort(reason);
  await assert.rejects(within(clock, 100, acquired), reason);
  assert.deepEqual(client.heldLeases, []);
  assert.deepEqual(
    events.map(({ type }) => type),
    ["failed"],
  );
});

test("an abort ends a back-off at once, and leaves no timer and no listener", async () => {
  const { clock, host, client } = bench();
  host.always("acquire", { deliver: 0, answer: { error: new Error("down") } });
  const controller = new AbortController();
  const acquired = follow(client.acquire("k", { waitMs: 60_000, signal: controller.signal }));
  await clock.advance(3_000);
  const before = host.of("acquire").length;
  controller.abort(reason);
  await clock.settle();
  assert.deepEqual(acquired(), { status: "rejected", reason });
  await clock.advance(100);
  assert.equal(clock.timers, 0);
  assert.equal(getEventListeners(controller.signal, "abort").length, 0);
  assert.equal(host.of("acquire").length, before);
});

test("a signal that has aborted before sends nothing", async () => {
  const { clock, host, client } = bench();
  const acquired = client.acquire("k", { signal: AbortSignal.abort(reason) });
  await assert.rejects(acquired, reason);
  assert.equal(host.requests.length, 0);
  assert.equal(clock.timers, 0);
});

test("of calls whose signal has aborted before nothing is kept", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const client = new LeaseClient(memory());
  const reasons: WeakRef<Error>[] = [];
  for (let call = 0; call < 50; call += 1) {
    const why = new Error("gone");
    reasons.push(new WeakRef(why));
    await client.acquire("k", { signal: AbortSignal.abort(why) }).catch(() => {});
  }
  await new Promise((wake) => setImmediate(wake));
  collect();
  const kept = reasons.filter((each) => each.deref() !== undefined);
  assert.ok(kept.length <= 2, `${kept.length} of 50`);
  await client.close();
});

test("a listener is left on the signal no longer than the wait lasts", async () => {
  const { clock, client } = bench();
  const { signal } = new AbortController();
  const acquired = client.acquire("k", { signal });
  assert.equal(getEventListeners(signal, "abort").length, 1);
  await within(clock, 20, acquired);
  assert.equal(getEventListeners(signal, "abort").length, 0);
});

for (const abortFirst of [true, false]) {
  test(`abort and a transport error in one turn, abort ${abortFirst ? "first" : "last"}`, async () => {
    const { clock, host, client } = bench();
    const controller = new AbortController();
    let fail: (error: Error) => void = () => {};
    host.always("*", { toHostMs: 0, toClientMs: 0 });
    host.next("acquire", {
      toHostMs: 0,
      toClientMs: 0,
      answer: {
        get response() {
          return new Promise((_, reject) => {
            fail = reject;
          });
        },
      },
    });
    const acquired = follow(client.acquire("k", { signal: controller.signal }));
    await clock.settle();
    const steps = [() => controller.abort(reason), () => fail(new Error("reset"))];
    for (const step of abortFirst ? steps : steps.toReversed()) {
      step();
    }
    await clock.advance(100);
    assert.deepEqual(acquired(), { status: "rejected", reason });
  });
}

test("the taking back outlives the handler", async () => {
  const outliving: Promise<unknown>[] = [];
  const { clock, client, rival } = bench({ waitUntil: (promise) => outliving.push(promise) });
  await within(clock, 20, rival().acquire("k", { ttlMs: 60_000 }));
  const controller = new AbortController();
  const acquired = follow(client.acquire("k", { signal: controller.signal }));
  await clock.advance(100);
  assert.equal(outliving.length, 0);
  controller.abort(reason);
  assert.equal(outliving.length, 1);
  const done = follow(outliving[0] as Promise<unknown>);
  await clock.settle();
  assert.equal(done().status, "pending");
  await clock.advance(20);
  assert.equal(done().status, "fulfilled");
  assert.equal(acquired().status, "rejected");
});

test("the caller's abort does not take the lease from a run under way", async () => {
  const { clock, host, client } = bench();
  const controller = new AbortController();
  const options = { ttlMs: 1_000, signal: controller.signal };
  const run = follow(
    client.run("k", options, async (lease) => {
      controller.abort(reason);
      await new Promise<void>((resolve) => {
        clock.setTimeout(resolve, 5_000);
      });
      lease.check();
      return "done";
    }),
  );
  await clock.advance(4_000);
  assert.ok(host.of("renew").length >= 3);
  assert.equal(host.of("release").length, 0);
  await clock.advance(1_100);
  assert.deepEqual(run(), { status: "fulfilled", value: "done" });
  assert.equal(host.of("release").length, 1);
});

test("bad arguments are INVALID before an aborted signal is looked at, and before any I/O", async () => {
  const { host, client } = bench();
  const acquired = client.acquire("", { signal: AbortSignal.abort(reason) });
  await assert.rejects(acquired, leaseError("INVALID", { reason: "key" }));
  assert.equal(host.requests.length, 0);
});
