import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, type TestContext, test } from "node:test";
import type { Lease } from "leasehold";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { client, documentOf, freshKey, LONG } from "./subject.ts";

const redis = suite();

interface Waiter {
  readonly op: string;
  readonly lease: Promise<Lease>;
  /** Gives up. */
  abort(): void;
}

/** What stands for the ops of all who wait, first in turn first. */
async function queue(key: string): Promise<readonly string[]> {
  return (await documentOf(redis.direct, key))?.queue ?? [];
}

async function wait(
  endpoint: RestEndpoint,
  key: string,
  options: { waitMs?: number; fetch?: typeof fetch } = {},
): Promise<Waiter> {
  const before = await queue(key);
  const { waitMs = 20_000, ...over } = options;
  const controller = new AbortController();
  const { signal } = controller;
  const lease = client(endpoint, { endpoint: over }).acquire(key, { ttlMs: LONG, waitMs, signal });
  lease.catch(() => {});
  let op = "";
  await eventually("it waits", async () => {
    const now = await queue(key);
    op = now.find((one) => !before.includes(one)) ?? "";
    return op !== "";
  });
  return { op, lease, abort: () => controller.abort(new Error("given up")) };
}

const streaming = (endpoint: RestEndpoint, count: number) =>
  eventually(`${count} streams`, () => endpoint.streams.open === count);

/** How often the waiter has asked. */
const asked = (endpoint: RestEndpoint, op: string) =>
  endpoint.requests.all.filter(({ commands }) => commands[0]?.includes(op)).length;

describe("Redis waiting: order", () => {
  test("first come, first served, one at a time", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const order: number[] = [];
    const waiting: Promise<void>[] = [];
    for (let index = 0; index < 8; index += 1) {
      const { lease } = await wait(endpoint, key);
      waiting.push(
        lease.then(async (granted) => {
          order.push(index);
          await granted.release();
        }),
      );
    }
    await holder.release();
    await Promise.all(waiting);
    assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  test("the dead at the head are skipped together, once, when they have been silent for 3 s", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const cut = new AbortController();
    const mortal: typeof fetch = (input, init) =>
      cut.signal.aborted
        ? new Promise(() => {})
        : fetch(input, {
            ...init,
            signal: AbortSignal.any([cut.signal, init?.signal ?? cut.signal]),
          });
    const dead = [];
    for (let index = 0; index < 3; index += 1)
      dead.push(await wait(endpoint, key, { fetch: mortal }));
    const alive = await wait(endpoint, key);
    await streaming(endpoint, 4);
    cut.abort();
    const died = performance.now();
    for (const { abort } of dead) abort();
    await holder.release();
    const next = await alive.lease;
    const took = performance.now() - died;
    assert.ok(took < 3_000 + 1_650 + 1_000, `${took} ms`);
    assert.deepEqual(await queue(key), []);
    const after = performance.now();
    const { lease } = await wait(endpoint, key);
    await next.release();
    await (await lease).release();
    assert.ok(performance.now() - after < 2_000, "nobody pays for the dead twice");
  });

  test("one that gives up leaves the queue, and the others keep their places", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const first = await wait(endpoint, key);
    const second = await wait(endpoint, key);
    const third = await wait(endpoint, key);
    second.abort();
    await assert.rejects(second.lease, /given up/);
    await eventually("it has left", async () => (await queue(key)).length === 2);
    assert.deepEqual(await queue(key), [first.op, third.op]);
    await holder.release();
    await (await first.lease).release();
    await (await third.lease).release();
  });

  test("a head that gives up although the key is free wakes the next", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const head = await wait(endpoint, key);
    const next = await wait(endpoint, key);
    await streaming(endpoint, 2);
    // It is told that it may be its turn, and its request stays away.
    endpoint.faults.add(
      { kind: "hang" },
      { where: ({ commands }) => commands[0]?.includes(head.op) === true },
    );
    await holder.release();
    await eventually("the head has tried", () => endpoint.faults.count("hang") === 1);
    const before = asked(endpoint, next.op);
    head.abort();
    await (await next.lease).release();
    assert.ok(asked(endpoint, next.op) - before <= 3);
  });

  test("a wait that runs out is TIMEOUT, in time, and leaves no place behind", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const begun = performance.now();
    const waiter = await wait(endpoint, key, { waitMs: 700 });
    await assert.rejects(waiter.lease, leaseError("TIMEOUT"));
    const took = performance.now() - begun;
    assert.ok(took >= 690 && took < 2_000, `${took} ms`);
    assert.deepEqual(await queue(key), []);
    await holder.release();
  });
});

describe("Redis waiting: hints", () => {
  test("a hint has the next ask at once, and only the next", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    let holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiters = [];
    for (let index = 0; index < 6; index += 1) waiters.push(await wait(endpoint, key));
    await streaming(endpoint, 6);
    const begun = performance.now();
    const before = endpoint.requests.total;
    for (const waiter of waiters) {
      await holder.release();
      holder = await waiter.lease;
    }
    const handovers = endpoint.requests.total - before;
    const polls = Math.ceil((performance.now() - begun) / 400) * waiters.length;
    // A release and an acquire each; the rest are polls that fell due meanwhile.
    assert.ok(handovers <= 2 * waiters.length + polls, `${handovers} requests`);
    assert.ok(performance.now() - begun < 400 * waiters.length, "faster than polls could be");
    await holder.release();
  });

  const without: readonly (readonly [string, (endpoint: RestEndpoint) => void])[] = [
    [
      "muted",
      ({ streams }) => {
        streams.muted = true;
      },
    ],
    ["missing", ({ faults }) => void missing(faults, 404)],
    ["refused for a while", ({ faults }) => void missing(faults, 503)],
    ["never answered", ({ faults }) => void onStreams(faults, { kind: "hang" })],
    ["cut at once", ({ faults }) => void onStreams(faults, { kind: "drop-before" })],
    ["empty", ({ faults }) => void onStreams(faults, { kind: "empty" })],
  ];
  for (const [name, spoil] of without) {
    test(`streams ${name} cost latency only`, async () => {
      const endpoint = await redis.endpoint();
      spoil(endpoint);
      const key = freshKey();
      const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
      const first = await wait(endpoint, key);
      const second = await wait(endpoint, key);
      await holder.release();
      await (await first.lease).release();
      await (await second.lease).release();
      await streaming(endpoint, 0);
    });
  }

  test("streams that close midway cost latency only", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiter = await wait(endpoint, key);
    await streaming(endpoint, 1);
    assert.equal(endpoint.streams.closeAll(), 1);
    await holder.release();
    await (await waiter.lease).release();
  });

  test("an endpoint without streams is asked for one once, one that was busy again", async () => {
    for (const [status, streams] of [
      [404, 1],
      [429, 3],
    ] as const) {
      const endpoint = await redis.endpoint();
      missing(endpoint.faults, status);
      const leases = client(endpoint);
      for (let round = 0; round < 3; round += 1) {
        const key = freshKey();
        const holder = await leases.acquire(key, { ttlMs: LONG });
        await assert.rejects(leases.acquire(key, { waitMs: 500 }), leaseError("TIMEOUT"));
        await holder.release();
      }
      const subscriptions = endpoint.requests.all.filter(({ shape }) => shape === "stream").length;
      assert.equal(subscriptions, streams, `after ${status}`);
    }
  });

  test("a message counts however the stream is cut into chunks, and nothing else does", async () => {
    const endpoint = await redis.endpoint();
    const text = ": hello\r\n\r\nevent: x\ndata: subscribe,c,1\n\ndata: message,c,1\n\n";
    for (let cut = 1; cut < text.length; cut += 7) {
      const key = freshKey();
      const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
      const go = Promise.withResolvers<void>();
      const chunked: typeof fetch = async (input, init) => {
        if (!String(input).includes("/subscribe/")) return fetch(input, init);
        const body = new ReadableStream<Uint8Array>({
          async start(controller) {
            const encoder = new TextEncoder();
            await go.promise;
            controller.enqueue(encoder.encode(text.slice(0, cut)));
            controller.enqueue(encoder.encode(text.slice(cut)));
            controller.close();
          },
        });
        return new Response(body);
      };
      const { op, lease, abort } = await wait(endpoint, key, { fetch: chunked });
      assert.equal(asked(endpoint, op), 1);
      const begun = performance.now();
      go.resolve();
      await eventually("it asks again", () => asked(endpoint, op) === 2);
      assert.ok(performance.now() - begun < 400, "before a poll was due");
      abort();
      await assert.rejects(lease, /given up/);
      await holder.release();
    }
  });
});

function onStreams(faults: RestEndpoint["faults"], fault: Parameters<typeof faults.add>[0]): void {
  faults.add(fault, { times: Infinity, where: ({ shape }) => shape === "stream" });
}

function missing(faults: RestEndpoint["faults"], status: number): void {
  onStreams(faults, { kind: "status", status, body: "text" });
}

describe("Redis waiting: what it costs", () => {
  test("each waiter asks after a second, and then every one and a half", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const holder = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiters = [];
    for (let index = 0; index < 10; index += 1)
      waiters.push(await wait(endpoint, key, { waitMs: 5_000 }));
    await Promise.allSettled(waiters.map(({ lease }) => lease));
    const gaps = waiters.map(({ op }) => {
      const times = endpoint.requests.all
        .filter(({ commands }) => commands[0]?.includes(op))
        .map(({ at }) => at);
      return times.slice(1).map((at, index) => at - (times[index] ?? 0));
    });
    for (const [first = 0, second = 0] of gaps) {
      assert.ok(first >= 890 && second >= 890, `${first}, ${second}`);
    }
    for (const each of gaps) {
      // Asking, after 1 s, at 2.0 or 2.5 s anew since the client has heard nothing, each 1 or 1.5 s
      // from there, the last look; one for luck.
      assert.ok(each.length <= 6, `${each.length + 1} requests in 5 s`);
    }
    // Not in step with each other.
    assert.ok(new Set(gaps.map(([, second = 0]) => Math.round(second / 5))).size >= 4);
    await holder.release();
  });

  test("a failing endpoint is asked ever more rarely", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "status", status: 503, body: "html" }, { times: Infinity });
    const waiters = Array.from({ length: 20 }, () =>
      client(endpoint).acquire("hot", { waitMs: 4_000 }),
    );
    for (const outcome of await Promise.allSettled(waiters)) {
      assert.equal(outcome.status, "rejected");
      leaseError("UNAVAILABLE")(outcome.status === "rejected" ? outcome.reason : undefined);
    }
    assert.ok(endpoint.requests.total <= 20 * 14, `${endpoint.requests.total} requests`);
  });

  test("40 waiters in one process leave no stream, timer or listener behind", async (t) => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const leases = client(endpoint);
    const timers = liveTimers(t);
    const holder = await leases.acquire(key, { ttlMs: LONG });
    const { signal, abort } = giveUp();
    const waiting = Array.from({ length: 40 }, (_, index) =>
      leases.acquire(key, { ttlMs: LONG, ...(index % 2 === 0 ? { signal } : { waitMs: 3_000 }) }),
    );
    const settled = Promise.allSettled(waiting);
    await eventually("all wait", async () => (await queue(key)).length === 40);
    await streaming(endpoint, 40);
    assert.ok(timers.size >= 40);
    assert.equal(getEventListeners(signal, "abort").length, 20);
    abort();
    for (const outcome of await settled) assert.equal(outcome.status, "rejected");
    await eventually("all have left", async () => (await queue(key)).length === 0);
    await streaming(endpoint, 0);
    // The holder's own.
    await eventually("one timer is left", () => timers.size === 1);
    const sent = endpoint.requests.total;
    await holder.release();
    assert.equal(endpoint.requests.total, sent + 1);
    assert.equal(getEventListeners(signal, "abort").length, 0);
    assert.equal(timers.size, 0);
  });
});

function giveUp() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error("given up")) };
}

/** The timers set by the package from here on that have neither gone off nor been cleared. */
function liveTimers(t: TestContext): ReadonlySet<unknown> {
  const live = new Set<unknown>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  const watched = (callback: () => void, ms: number, ...rest: []) => {
    // The runtime's own fetch sets timers in the same way.
    if (!new Error().stack?.includes("/pkg/dist/")) return set(callback, ms, ...rest);
    const timer = set(() => {
      live.delete(timer);
      callback();
    }, ms);
    live.add(timer);
    return timer;
  };
  t.mock.method(globalThis, "setTimeout", watched);
  t.mock.method(globalThis, "clearTimeout", (timer: NodeJS.Timeout) => {
    live.delete(timer);
    clear(timer);
  });
  return live;
}
