import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { type Lease, type LeaseClient, LeaseSet } from "leasehold";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { type Bench, bench, fenceAt, follow, leaseError, within } from "../support/bench.ts";

const keys = ({ leases }: LeaseSet) => leases.map(({ key }) => key);

/** What is free at the host when all that is under way has ended. */
async function free({ clock, rival }: Bench, ...wanted: string[]): Promise<boolean[]> {
  await clock.advance(100);
  const seen = wanted.map((key) => rival().inspect(key));
  return (await within(clock, 20, Promise.all(seen))).map((info) => info === undefined);
}

type Served = (client: LeaseClient, wanted: string[], work: () => Promise<void>) => Promise<void>;

/** Five clients want some of four keys, three times each; how many have not been served in time. */
async function crowd(seed: number, serve: Served): Promise<number> {
  const { clock, rival } = bench();
  const random = seededRandom(seed);
  const holders = new Map<string, number>();
  let left = 0;
  const user = async (client: LeaseClient) => {
    for (let round = 0; round < 3; round += 1) {
      const shuffled = ["a", "b", "c", "d"].sort(() => random() - 0.5);
      const wanted = shuffled.slice(0, 2 + Math.floor(random() * 3));
      left += 1;
      await serve(client, wanted, async () => {
        for (const key of wanted) {
          assert.equal(holders.get(key) ?? 0, 0, `seed ${seed}: ${key} has one user`);
          holders.set(key, 1);
        }
        await new Promise((wake) => clock.setTimeout(() => wake(undefined), random() * 500));
        for (const key of wanted) holders.set(key, 0);
      });
      left -= 1;
    }
  };
  const clients = Array.from({ length: 5 }, () => rival());
  for (const client of clients) follow(user(client));
  await clock.advance(60_000);
  const unserved = left;
  await within(clock, 10_000, Promise.all(clients.map((client) => client.close())));
  return unserved;
}

describe("acquireAll", () => {
  test("keys are had once each, in one order, whatever the order they are given in", async () => {
    const { clock, host, client } = bench();
    const set = await within(clock, 60, client.acquireAll(["b", "a", "B", "a"]));
    assert.deepEqual(keys(set), ["B", "a", "b"]);
    assert.deepEqual(
      host.of("acquire").map(({ request }) => request.key),
      ["B", "a", "b"],
    );
    assert.equal(set.get("a")?.fence, fenceAt(30));
    assert.equal(set.get("c"), undefined);
    assert.ok(set.held);
  });

  test("whoever wants the same keys in another order takes turns with us", async () => {
    const { clock, client, rival } = bench();
    const order: string[] = [];
    const work = (name: string, wanted: string[], by = client) =>
      by.runAll(wanted, { waitMs: 60_000 }, async () => {
        order.push(`${name} in`);
        await new Promise((resolve) => clock.setTimeout(() => resolve(undefined), 1_000));
        order.push(`${name} out`);
      });
    const all = [
      work("ada", ["x", "y", "z"]),
      work("bob", ["z", "y", "x"], rival()),
      work("cyd", ["y", "x", "z"], rival()),
      work("dan", ["z", "x", "y"], rival()),
    ];
    await within(clock, 10_000, Promise.all(all));
    assert.equal(order.length, 8);
    for (let turn = 0; turn < order.length; turn += 2) {
      assert.equal(order[turn + 1], order[turn]?.replace("in", "out"));
    }
  });

  test("whatever keys are wanted in whatever order, everybody is served", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const left = await crowd(seed, (client, wanted, work) =>
        client.runAll(wanted, { ttlMs: 5_000, waitMs: 600_000 }, work),
      );
      assert.equal(left, 0, `seed ${seed}`);
    }
  });

  test("asked for in the order given, the same keys would have them wait in a circle", async () => {
    let stuck = 0;
    for (let seed = 1; seed <= 20; seed += 1) {
      stuck += await crowd(seed, async (client, wanted, work) => {
        const leases: Lease[] = [];
        for (const key of wanted) leases.push(await client.acquire(key, { waitMs: 600_000 }));
        await work();
        for (const lease of leases) await lease.release();
      });
    }
    assert.ok(stuck > 0);
  });

  test("a key that can't be had gives the others back", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    await within(clock, 20, rival().acquire("b"));
    const tried = client.acquireAll(["a", "b", "c"], { waitMs: 0 });
    await assert.rejects(within(clock, 60, tried), leaseError("HELD", { key: "b" }));
    assert.deepEqual(await free(it, "a", "b", "c"), [true, false, true]);
  });

  test("the wait is that of all keys together", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    // Each of the keys is free within two seconds of when it is asked for.
    for (const [key, ttlMs] of [
      ["a", 2_000],
      ["b", 4_000],
      ["c", 6_000],
    ] as const) {
      await within(clock, 20, rival().acquire(key, { ttlMs, renew: "manual" }));
    }
    const tried = client.acquireAll(["a", "b", "c"], { waitMs: 5_000 });
    const standing = follow(tried);
    await clock.advance(4_500);
    assert.equal(standing().status, "pending");
    await assert.rejects(within(clock, 600, tried), leaseError("TIMEOUT", { key: "c" }));
    assert.deepEqual(await free(it, "a", "b"), [true, true]);
  });

  for (const [options, most] of [
    [{ waitMs: 500 }, 1_000],
    [{ waitMs: 3_000 }, 3_000],
    [{ waitMs: 0 }, 5_000],
    [{}, 10_000],
    [{ waitMs: 500, timeoutMs: 2_500 }, 2_500],
    [{ waitMs: 0, timeoutMs: 700 }, 700],
  ] as const) {
    test(`${inspect(options)}: many keys at a slow host take no longer than one, ${most} ms`, async () => {
      const it = bench({ latencyMs: 300 });
      const { clock, client } = it;
      const many = Array.from({ length: 64 }, (_, index) => `k${index}`);
      const tried = follow(client.acquireAll(many, options));
      await clock.advance(most + 1);
      const outcome = tried();
      assert.ok(outcome.status === "rejected");
      leaseError("UNAVAILABLE", { reason: "no-answer" })(outcome.reason);
      await clock.advance(2_000);
      assert.deepEqual(client.heldLeases, []);
      const left = many.map((key) => it.rival().inspect(key));
      assert.ok(
        (await within(clock, 700, Promise.all(left))).every((state) => state === undefined),
      );
    });
  }

  test("a lease lost while another is waited for ends the wait, for that reason", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    await within(clock, 20, rival().acquire("b", { ttlMs: 60_000 }));
    const tried = client.acquireAll(["a", "b"], { ttlMs: 3_000, waitMs: 30_000 });
    const standing = follow(tried);
    await clock.advance(500);
    assert.equal(await within(clock, 20, rival().revoke("a")), true);
    await clock.advance(1_500);
    assert.equal(standing().status, "rejected");
    await assert.rejects(tried, leaseError("LOST", { key: "a", reason: "revoked" }));
    assert.equal((await within(clock, 120, rival().inspect("b")))?.waiters, 0);
  });

  test("a caller's abort ends the wait, for the caller's reason", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    await within(clock, 20, rival().acquire("b"));
    const abort = new AbortController();
    const tried = client.acquireAll(["a", "b"], { signal: abort.signal });
    follow(tried);
    await clock.advance(200);
    const reason = new Error("no more");
    abort.abort(reason);
    await assert.rejects(tried, (error) => error === reason);
    assert.deepEqual(await free(it, "a"), [true]);
    assert.equal(getEventListeners(abort.signal, "abort").length, 0);
  });

  test("a signal of another library's ends the wait as well", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    await within(clock, 20, rival().acquire("b"));
    const target = new EventTarget();
    const signal = Object.assign(target, { aborted: false, reason: new Error("theirs") });
    const tried = client.acquireAll(["a", "b"], { signal: signal as never });
    follow(tried);
    await clock.advance(200);
    signal.aborted = true;
    target.dispatchEvent(new Event("abort"));
    await assert.rejects(tried, (error) => error === signal.reason);
    assert.deepEqual(await free(it, "a"), [true]);
  });

  test("keys that are none are refused before anything is sent", async () => {
    const { clock, host, client } = bench();
    const many = Array.from({ length: 65 }, (_, index) => `k${index}`);
    const odd = ["a", "b".repeat(513)];
    for (const wanted of ["abc", [], [1], many, undefined, odd, ["a", ""], ["a", "\ud800"]]) {
      const tried = client.acquireAll(wanted as string[]);
      await assert.rejects(within(clock, 20, tried), leaseError("INVALID", { reason: "keys" }));
    }
    assert.equal(host.requests.length, 0);
  });
});

describe("a set of leases", () => {
  test("without a lease there is no set", () => {
    for (const none of [undefined, null, [], [{}], "leases", [undefined]]) {
      assert.throws(() => new LeaseSet(none as never), leaseError("INVALID", { reason: "leases" }));
    }
  });

  test("one lease lost: the signal aborts once, check throws, the rest are released", async () => {
    const it = bench();
    const { clock, client, rival } = it;
    let signal: AbortSignal | undefined;
    const ran = client.runAll(["a", "b"], { ttlMs: 3_000 }, async (set) => {
      signal = set.signal;
      await new Promise((resolve) => signal?.addEventListener("abort", resolve));
      assert.throws(() => set.check(), leaseError("LOST", { key: "b", reason: "revoked" }));
      assert.equal(set.held, false);
      assert.equal(set.remainingMs(), 0);
      assert.ok(set.get("a")?.held);
    });
    const standing = follow(ran);
    await clock.advance(500);
    assert.equal(await within(clock, 20, rival().revoke("b")), true);
    await clock.advance(1_500);
    assert.equal(standing().status, "rejected");
    await assert.rejects(ran, leaseError("LOST", { key: "b", reason: "revoked" }));
    assert.equal(signal?.aborted, true);
    assert.deepEqual(await free(it, "a", "b"), [true, true]);
  });

  test("a term that ended unnoticed shows at the first read of the signal", async () => {
    const { clock, client } = bench();
    const set = await within(clock, 40, client.acquireAll(["a", "b"], { ttlMs: 1_000 }));
    assert.equal(set.signal.aborted, false);
    clock.block(1_300);
    assert.equal(set.signal.aborted, true);
    leaseError("LOST", { key: "a", reason: "expired" })(set.signal.reason);
  });

  test("release tells the keys that the host has back from the others", async () => {
    const { clock, client, rival } = bench();
    const set = await within(clock, 60, client.acquireAll(["a", "b", "c"]));
    assert.equal(await within(clock, 20, rival().revoke("b")), true);
    const outcome = await within(clock, 40, set.release());
    assert.deepEqual(outcome, { released: ["a", "c"], unconfirmed: ["b"] });
    assert.equal(set.signal.aborted, false);
    assert.throws(() => set.check(), leaseError("LOST", { reason: "released" }));
  });

  test("verify asks the host about each", async () => {
    const { clock, client, rival } = bench();
    const set = await within(clock, 40, client.acquireAll(["a", "b"]));
    await within(clock, 20, set.verify());
    assert.equal(await within(clock, 20, rival().revoke("b")), true);
    await assert.rejects(within(clock, 40, set.verify()), leaseError("LOST", { key: "b" }));
  });

  test("runAll passes the result on and releases; a lease that was detached it leaves", async () => {
    const it = bench();
    const { clock, client } = it;
    const ran = client.runAll(["a", "b"], (set) => {
      set.get("b")?.detach();
      return set.leases.length;
    });
    assert.equal(await within(clock, 100, ran), 2);
    assert.deepEqual(await free(it, "a", "b"), [true, false]);
    const bad = client.runAll(["a"], undefined as never);
    await assert.rejects(within(clock, 20, bad), leaseError("INVALID", { reason: "fn" }));
  });
});
