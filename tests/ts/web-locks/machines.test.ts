/** What lies between a lock manager and its host, which the standard knows nothing of. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BackendError, type Clock, type LeaseBackend, LeaseClient } from "leasehold";
import { LockManager } from "leasehold/web-locks";
import { bench, follow, leaseError, within } from "../support/bench.ts";

const forever = () => new Promise<never>(() => {});

/** A client of a host that can't list its keys. */
function unlisted(host: LeaseBackend, clock: Clock): LeaseClient {
  const capabilities = { ...host.capabilities, list: false };
  const call = (...args: Parameters<LeaseBackend["call"]>) => host.call(...args);
  return new LeaseClient({ capabilities, call }, { clock });
}

describe("Web Locks between machines", () => {
  test("the lock has a signal and a fence, which rises", async () => {
    const { clock, client, rival } = bench();
    const fences: bigint[] = [];
    for (const leases of [client, rival()]) {
      const done = new LockManager(leases).request("a", (lock) => {
        assert.equal(lock?.signal.aborted, false);
        fences.push(lock?.fence ?? 0n);
      });
      await within(clock, 60, done);
    }
    const [first = 0n, second = 0n] = fences;
    assert.ok(first > 0n && second > first);
  });

  test("a lock that is lost rejects at once, whatever the callback does", async () => {
    const { clock, client, host } = bench();
    let signal: AbortSignal | undefined;
    const done = new LockManager(client, { ttlMs: 3_000 }).request("a", (lock) => {
      signal = lock?.signal;
      return forever();
    });
    const standing = follow(done);
    await clock.advance(100);
    host.always("*", { deliver: 0 });
    await clock.advance(2_000);
    assert.equal(standing().status, "pending");
    await clock.advance(1_000);
    await assert.rejects(done, (error) => {
      assert.ok(error instanceof DOMException);
      assert.equal(error.name, "AbortError");
      return leaseError("LOST", { key: "a", reason: "expired" })(error.cause);
    });
    assert.equal(signal?.aborted, true);
  });

  test("one lost while the callback was blocking rejects as well, with whatever it returns", async () => {
    const { clock, client } = bench();
    const done = new LockManager(client, { ttlMs: 3_000 }).request("a", () => {
      clock.block(5_000);
      return "too late";
    });
    follow(done);
    await clock.advance(100);
    await assert.rejects(done, { name: "AbortError" });
  });

  test("requests keep their order though the network changes it", async () => {
    const { clock, client, host } = bench();
    const locks = new LockManager(client);
    const order: number[] = [];
    host.next("acquire", ...[300, 10, 200, 20].map((toHostMs) => ({ toHostMs })));
    const all = [0, 1, 2, 3].map((at) => locks.request("a", () => order.push(at)));
    await within(clock, 1_000, Promise.all(all));
    assert.deepEqual(order, [0, 1, 2, 3]);
  });

  test("so do requests in different modes: what is granted before its turn is given back", async () => {
    const { clock, client, host } = bench();
    const locks = new LockManager(client);
    const order: string[] = [];
    const modes = ["exclusive", "shared", "shared", "exclusive"] as const;
    host.next("acquire", ...[300, 10, 200, 20].map((toHostMs) => ({ toHostMs })));
    const all = modes.map((mode, at) =>
      locks.request("a", { mode }, async (lock) => {
        order.push(`${at} ${lock?.mode}`);
        await new Promise<void>((wake) => clock.setTimeout(wake, 50));
      }),
    );
    await within(clock, 2_000, Promise.all(all));
    assert.deepEqual(order, ["0 exclusive", "1 shared", "2 shared", "3 exclusive"]);
  });

  test("an abort takes back the request it was made for, though the network has changed the order", async () => {
    const { clock, client, host, rival } = bench();
    const locks = new LockManager(client);
    const held = await within(clock, 20, rival().acquire("a"));
    host.next("acquire", { toHostMs: 300 }, { toHostMs: 10 }, { toHostMs: 20 });
    const order: number[] = [];
    const aborts = [0, 1, 2].map(() => new AbortController());
    const all = aborts.map(({ signal }, at) =>
      locks.request("a", { signal }, () => order.push(at)),
    );
    all.map(follow);
    await clock.advance(100);
    await within(clock, 20, held.release());
    aborts[1]?.abort("enough");
    await clock.advance(1_000);
    assert.deepEqual(order, [0, 2]);
    await assert.rejects(all[1] ?? forever(), (reason) => reason === "enough");
    assert.equal(await within(clock, 60, rival().inspect("a")), undefined);
  });

  test("who asks for what is available does not go before a request that was made earlier", async () => {
    for (const [before, mode, isNull] of [
      ["exclusive", "exclusive", true],
      ["exclusive", "shared", true],
      ["shared", "exclusive", true],
      ["shared", "shared", false],
    ] as const) {
      const { clock, client, host } = bench();
      const locks = new LockManager(client);
      const order: string[] = [];
      host.next("acquire", { toHostMs: 50 });
      const first = locks.request("a", { mode: before }, () => order.push("first"));
      const second = locks.request("a", { mode, ifAvailable: true }, (lock) => {
        order.push(lock === null ? "null" : "second");
      });
      await within(clock, 500, Promise.all([first, second]));
      assert.deepEqual(order, isNull ? ["null", "first"] : ["second", "first"]);
      const alone = locks.request("a", { mode, ifAvailable: true }, (lock) => lock !== null);
      assert.equal(await within(clock, 100, alone), true);
    }
  });

  test("a request waits on when the longest wait is over", async () => {
    const { clock, client, rival } = bench();
    const held = await within(clock, 20, rival().acquire("a", { ttlMs: 86_400_000 }));
    const done = new LockManager(client).request("a", () => "at last");
    const standing = follow(done);
    for (let hours = 0; hours < 30; hours += 1) await clock.advance(3_600_000);
    assert.equal(standing().status, "pending");
    await within(clock, 20, held.release());
    assert.equal(await within(clock, 10_000, done), "at last");
  });

  test("what the host refuses is what the request rejects with", async () => {
    const { clock, client, host } = bench();
    const locks = new LockManager(client);
    const verdict = { code: "DENIED", reason: "scope" } as const;
    host.always("*", {
      deliver: 0,
      answer: { error: new BackendError("No.", { delivery: "never", verdict }) },
    });
    const refused = locks.request("a", forever);
    await assert.rejects(within(clock, 100, refused), leaseError("DENIED"));
    await assert.rejects(within(clock, 100, locks.query()), leaseError("DENIED"));
    host.restore();
    assert.equal(
      await within(
        clock,
        100,
        locks.request("a", () => 1),
      ),
      1,
    );
    await within(clock, 100, client.close());
    await assert.rejects(locks.request("b", forever), leaseError("INVALID", { reason: "closed" }));
  });

  test("names that are keys are the keys; others are hashed, and shown by their name", async () => {
    const { clock, client, host } = bench();
    const locks = new LockManager(client, { clientId: "us" });
    const odd = ["", "\ud800", "n".repeat(513)];
    const all = ["order:42", ...odd].map((name) => locks.request(name, forever));
    all.map(follow);
    // Hashing takes its time, whatever the clock shows.
    while (host.of("acquire").length < all.length) await clock.settle();
    await clock.advance(100);
    const keys = host.of("acquire").map(({ request }) => request.key);
    // SHA-256 of nothing, by any other tool.
    const empty = "-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert.deepEqual(keys.slice(0, 1), ["order:42"]);
    assert.ok(keys.includes(empty));
    for (const key of keys.slice(1)) assert.match(key, /^-[0-9a-f]{64}$/);
    const { held } = await within(clock, 100, locks.query());
    assert.deepEqual(held.map(({ name }) => name).sort(), ["order:42", ...odd].sort());
    for (const { clientId, mode } of held) assert.deepEqual([clientId, mode], ["us", "exclusive"]);
  });

  test("query shows all that the host has, where it can list it", async () => {
    const { clock, client, rival } = bench();
    const locks = new LockManager(client, { clientId: "us" });
    const other = new LockManager(rival(), { clientId: "other" });
    for (const options of [{}, { mode: "shared" }] as const) {
      follow(other.request("a", options, forever));
    }
    follow(rival({ holder: "a lease" }).acquire("b", { limit: 3 }));
    await clock.advance(100);
    assert.deepEqual(await within(clock, 100, locks.query()), {
      held: [
        { name: "a", mode: "exclusive", clientId: "other" },
        { name: "b", mode: "shared", clientId: "a lease" },
      ],
      pending: [{ name: "a" }],
    });
  });

  test("elsewhere it shows what others do with the names that were used of late", async () => {
    const { clock, host, rival } = bench();
    const locks = new LockManager(unlisted(host, clock), { clientId: "us" });
    const other = new LockManager(rival(), { clientId: "other" });
    await within(
      clock,
      60,
      locks.request("a", () => {}),
    );
    for (const done of [other.request("a", forever), other.request("a", forever)]) follow(done);
    follow(other.request("b", forever));
    await clock.advance(100);
    assert.deepEqual(await within(clock, 100, locks.query()), {
      held: [{ name: "a", mode: "exclusive", clientId: "other" }],
      pending: [{ name: "a" }],
    });
  });

  test("of names that are not in use any more a limited number is remembered", async () => {
    const { clock, host } = bench();
    const locks = new LockManager(unlisted(host, clock));
    for (let at = 0; at < 200; at += 1) {
      await within(
        clock,
        60,
        locks.request(`name ${at}`, () => {}),
      );
    }
    follow(locks.request("in use", forever));
    await clock.advance(60);
    await within(clock, 100, locks.query());
    const asked = host.of("inspect").map(({ request }) => request.key);
    assert.equal(asked.length, 65);
    assert.ok(
      asked.includes("in use") && asked.includes("name 199") && !asked.includes("name 135"),
    );
  });

  test("bad arguments are told when the manager is made", () => {
    const { client } = bench();
    for (const none of [undefined, {}, navigator]) {
      assert.throws(
        () => new LockManager(none as never),
        leaseError("INVALID", { reason: "leases" }),
      );
    }
    for (const [options, reason] of [
      [{ clientId: "" }, "clientId"],
      [{ ttlMs: 1 }, "ttlMs"],
      [{ waitMs: 1 }, "waitMs"],
      ["name", "options"],
    ] as const) {
      assert.throws(
        () => new LockManager(client, options as never),
        leaseError("INVALID", { reason }),
      );
    }
  });
});
