import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Workers } from "./harness.ts";
import {
  acquire,
  FENCE,
  type Host,
  look,
  type Response,
  release,
  renew,
  request,
  rise,
  WAITERS,
  waitFor,
} from "./host.ts";

let workers: Workers;
/** The object of the key. */
const object = (key: string) => workers.namespace<Host>("LEASES").getByName(`key/${key}`);

before(async () => {
  workers = await Workers.startTestHost();
});
after(() => workers.stop());

const WAIT = { waitMs: 20_000 };

async function queue(host: Host, length: number): Promise<void> {
  while ((await host.sql(WAITERS)).length !== length) {
    await sleep(5);
  }
}

/** Requests that wait, each in the queue before the next is sent. */
async function inOrder(host: Host, key: string, holders: string[]): Promise<Promise<Response>[]> {
  const answers: Promise<Response>[] = [];
  for (const holder of holders) {
    answers.push(host.call(acquire(key, { holder, ...WAIT })));
    await queue(host, answers.length);
  }
  return answers;
}

test("waiters are served in order, each at once when the one before releases", async () => {
  const host = object("order");
  let { lease } = await host.call(acquire("order", { ttlMs: 60_000 }));
  const waiting = await inOrder(host, "order", ["b", "c", "d"]);
  let last: string | undefined = "0";
  for (const answer of waiting) {
    assert.equal((await host.call(release("order", { lease }))).outcome, "released");
    const granted = await answer;
    assert.equal(granted.outcome, "granted");
    assert.ok(rise(last, granted.fence));
    last = granted.fence;
    ({ lease } = granted);
  }
  await queue(host, 0);
});

test("fifty at once are served one by one, each with a fence of its own", async () => {
  const host = object("rush");
  let holding = 0;
  const fences = await Promise.all(
    Array.from({ length: 50 }, async (_, number) => {
      const granted = await waitFor(host, acquire("rush", { holder: `${number}`, ...WAIT }));
      assert.equal(granted.outcome, "granted");
      holding += 1;
      assert.equal(holding, 1);
      const { lease } = granted;
      const [renewed] = await Promise.all([1, 2].map(() => host.call(renew("rush", { lease }))));
      assert.equal(renewed?.outcome, "renewed");
      holding -= 1;
      await host.call(release("rush", { lease }));
      return granted.fence;
    }),
  );
  assert.ok(rise(...fences.sort()), "each has a fence of its own");
  await queue(host, 0);
});

test("nobody barges past a queue, and whoever won't wait is told at once", async () => {
  const host = object("barging");
  const { lease } = await host.call(acquire("barging", { ttlMs: 60_000 }));
  const [waiting] = await inOrder(host, "barging", ["b"]);
  assert.equal((await host.call(acquire("barging", { holder: "c" }))).outcome, "held");
  await host.call(release("barging", { lease }));
  assert.equal((await waiting)?.outcome, "granted");
  assert.equal((await host.call(acquire("barging", { holder: "c" }))).outcome, "held");
});

test("the alarm serves a waiter when the holder is gone for good", async () => {
  const host = object("alarm");
  await host.call(acquire("alarm", { ttlMs: 500 }));
  const isFar = async () => Number(await host.alarmAt()) > Date.now() + 86_400_000;
  assert.ok(await isFar(), "no waiter: only to be forgotten some day");
  const [waiting] = await inOrder(host, "alarm", ["b"]);
  assert.ok(!(await isFar()));
  const granted = await waiting;
  assert.equal(granted?.outcome, "granted");
  assert.ok((granted?.waitedMs ?? 0) > 0);
  assert.ok(await isFar());
});

test("without any alarm, the next request serves the waiter", async () => {
  const host = object("lost alarm");
  await host.call(acquire("lost alarm", { ttlMs: 300 }));
  const [waiting] = await inOrder(host, "lost alarm", ["b"]);
  await host.loseAlarm();
  const early = await Promise.race([waiting, sleep(600, "nothing")]);
  assert.equal(early, "nothing");
  await host.call(request("inspect", "lost alarm"));
  assert.equal((await waiting)?.outcome, "granted");
});

test("alarms too many, too early or twice do nothing", async () => {
  const host = object("doubled alarm");
  const { lease, fence } = await host.call(acquire("doubled alarm", { ttlMs: 60_000 }));
  const [waiting] = await inOrder(host, "doubled alarm", ["b"]);
  const at = await host.alarmAt();
  await Promise.all([host.ring(), host.ring(), host.ring()]);
  const moved = Number(await host.alarmAt()) - Number(at);
  assert.ok(Math.abs(moved) <= 1, `moved by ${moved} ms`);
  const info = await look(host, "doubled alarm");
  assert.deepEqual([info.holder, info.fence, info.waiters], ["alice", fence, 1]);
  await host.call(release("doubled alarm", { lease }));
  const granted = await waiting;
  await Promise.all([host.ring(), host.ring()]);
  const after = await look(host, "doubled alarm");
  assert.deepEqual([after.holder, after.fence], ["b", granted?.fence]);
});

test("after the object was lost, waiters that ask again have kept their places", async () => {
  const host = object("lost queue");
  const { lease } = await host.call(acquire("lost queue", { ttlMs: 60_000 }));
  const asked = ["b", "c"].map((holder) => acquire("lost queue", { holder, ...WAIT }));
  const lost: Promise<unknown>[] = [];
  for (const one of asked) {
    lost.push(assert.rejects(host.call(one)));
    await queue(host, lost.length);
  }
  await host.abort().catch(() => {});
  await Promise.all(lost);

  const [b, c] = [...asked]
    .reverse()
    .map((one) => object("lost queue").call(one))
    .reverse();
  await sleep(200);
  await object("lost queue").call(release("lost queue", { lease }));
  const first = await b;
  assert.equal(first?.outcome, "granted", "though it came back last");
  await object("lost queue").call(release("lost queue", { lease: first?.lease }));
  assert.ok(rise(first?.fence, (await c)?.fence));
});

test("a waiter that cancels leaves at once, and the next moves up", async () => {
  const host = object("cancel");
  const { lease } = await host.call(acquire("cancel", { ttlMs: 60_000 }));
  const asked = acquire("cancel", { holder: "b", ...WAIT });
  const cancelled = host.call(asked);
  await queue(host, 1);
  const next = host.call(acquire("cancel", { holder: "c", ...WAIT }));
  await queue(host, 2);
  assert.equal((await host.call({ ...asked, operation: "cancel" })).outcome, "cancelled");
  assert.equal((await cancelled).outcome, "cancelled");
  await host.call(release("cancel", { lease }));
  const granted = await next;
  assert.equal(granted.outcome, "granted");
});

test("a waiter that never comes back holds the others up no longer than an offer", async () => {
  const host = object("dead waiter");
  const { lease } = await host.call(acquire("dead waiter", { ttlMs: 60_000 }));
  await inOrder(host, "dead waiter", ["dead"]);
  const alive = waitFor(host, acquire("dead waiter", { holder: "alive", ...WAIT }));
  await queue(host, 2);
  const started = Date.now();
  await host.call(release("dead waiter", { lease }));
  // The dead one is granted, and never renews.
  const granted = await alive;
  assert.equal(granted.outcome, "granted");
  assert.ok(Date.now() - started < 6_000, `${Date.now() - started} ms`);
  assert.equal(
    (await host.call(renew("dead waiter", { lease: granted?.lease }))).outcome,
    "renewed",
  );
});

test("a waiter that is known to have left is not granted once its grace is over", async () => {
  const host = object("left");
  const { lease } = await host.call(acquire("left", { ttlMs: 60_000 }));
  const body = JSON.stringify(acquire("left", { holder: "b", ...WAIT }));
  const headers = { "x-leave-after-ms": "200" };
  const left = host.fetch("https://object/", { method: "POST", body, headers });
  await queue(host, 1);
  const started = Date.now();
  assert.equal((await left).status, 500);
  await queue(host, 0);
  assert.ok(Date.now() - started < 5_000, `${Date.now() - started} ms`);
  await host.call(release("left", { lease }));
  assert.equal((await host.call(acquire("left", { holder: "c" }))).outcome, "granted");
});

test("a poll that ends keeps the place for the next one", async () => {
  const host = object("next poll");
  const { lease } = await host.call(acquire("next poll", { ttlMs: 86_400_000 }));
  const asked = acquire("next poll", { holder: "b", waitMs: 60_000 });
  const poll = host.call(asked);
  await queue(host, 1);
  await host.skew(20_001);
  await host.ring();
  const queued = await poll;
  assert.deepEqual([queued.outcome, queued.waiters], ["queued", 0]);
  const [behind] = await Promise.all([
    host.call(acquire("next poll", { holder: "c", ...WAIT })),
    (async () => {
      await queue(host, 2);
      const back = host.call({ ...asked, waitMs: 40_000 });
      // Until it is parked again, a release would pass its grant by.
      await host.call(request("inspect", "next poll"));
      await host.call(release("next poll", { lease }));
      const granted = await back;
      assert.equal(granted.outcome, "granted");
      await host.call(release("next poll", { lease: granted.lease }));
    })(),
  ]);
  assert.equal(behind.outcome, "granted");
});

test("by fetch: the same request as JSON, the same answer", async () => {
  const host = object("fetch");
  const post = (body: string) => host.fetch("https://object/", { method: "POST", body });
  const granted = await post(JSON.stringify(acquire("fetch")));
  assert.deepEqual([granted.status, granted.headers.get("cache-control")], [200, "no-store"]);
  const { lease, fence, ...rest } = (await granted.json()) as Response;
  assert.deepEqual(rest, { v: 1, outcome: "granted", slot: 0, ttlMs: 9_500 });
  assert.match(String(fence), FENCE);
  const held = await post(JSON.stringify(acquire("fetch")));
  assert.equal(((await held.json()) as Response).outcome, "held");
  const malformed = await post("{");
  assert.equal(malformed.status, 400);
  assert.equal(((await malformed.json()) as Response).reason, "malformed-json");
  const released = await post(JSON.stringify(release("fetch", { lease })));
  assert.equal(((await released.json()) as Response).outcome, "released");
});
