import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bench, fails, TTL, untilWaiters, WAIT } from "./tools.ts";

/** What every host does for several holders of one key, and for one that takes all. */
export function sharing({ client, freshKey }: Bench): void {
  test("as many hold a key as its limit allows, each in a slot of its own; a slot given back is the next one's", async () => {
    const key = freshKey();
    const options = { limit: 3, ttlMs: TTL, waitMs: 0 };
    const leases = [
      await client("ada").acquire(key, options),
      await client("bob").acquire(key, options),
      await client("carl").acquire(key, options),
    ];
    assert.deepEqual(
      leases.map(({ slot }) => slot),
      [0, 1, 2],
    );
    await assert.rejects(client("dora").acquire(key, options), fails("HELD"));
    const state = await client().inspect(key);
    assert.deepEqual(
      state?.holders.map(({ holder, slot, limit, fence }) => ({ holder, slot, limit, fence })),
      leases.map(({ holder, slot, fence }) => ({ holder, slot, limit: 3, fence })),
    );
    await leases[1]?.release();
    const next = await client("dora").acquire(key, options);
    assert.equal(next.slot, 1);
    assert.ok(leases.every(({ fence }) => fence < next.fence));
  });

  test("never more than the limit at once, however many want the key", async () => {
    const key = freshKey();
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inside -= 1;
    };
    const options = { limit: 3, ttlMs: TTL, waitMs: WAIT };
    await Promise.all(Array.from({ length: 12 }, () => client().run(key, options, work)));
    assert.equal(most, 3);
    assert.equal(await client().inspect(key), undefined);
  });

  test("the lowest limit of all counts: who wants the key alone waits for all, and all behind it wait", async () => {
    const key = freshKey();
    const readers = [
      await client("r1").acquire(key, { mode: "shared", ttlMs: TTL }),
      await client("r2").acquire(key, { mode: "shared", ttlMs: TTL }),
    ];
    assert.equal(await client("w").tryAcquire(key), undefined);
    const writer = client("w").acquire(key, { ttlMs: TTL, waitMs: WAIT });
    await untilWaiters(client(), key, 1);
    // One more reader would fit, but for the writer before it.
    const behind = client("r3").acquire(key, { mode: "shared", ttlMs: TTL, waitMs: WAIT });
    await untilWaiters(client(), key, 2);
    await readers[0]?.release();
    assert.equal((await client().inspect(key))?.waiters, 2);
    await readers[1]?.release();
    const alone = await writer;
    assert.equal((await client().inspect(key))?.holders.length, 1);
    await alone.release();
    await (await behind).release();
  });

  test("who steals a key ends every grant of it and keeps the others' places", async () => {
    const key = freshKey();
    const shared = { limit: 2, ttlMs: 3_000 };
    const victims = [
      await client().acquire(key, shared),
      await client().acquire(key, { ...shared, waitMs: WAIT }),
    ];
    const waiting = client("patient").acquire(key, { ttlMs: TTL, waitMs: WAIT });
    await untilWaiters(client(), key, 1);
    const thief = await client("thief").acquire(key, { steal: true, ttlMs: TTL, waitMs: 0 });
    assert.ok(victims.every(({ fence }) => fence < thief.fence));
    const state = await client().inspect(key);
    assert.deepEqual(
      state?.holders.map(({ holder }) => holder),
      ["thief"],
    );
    assert.equal(state?.waiters, 1);
    for (const victim of victims) {
      await assert.rejects(victim.verify(), fails("LOST", { reason: "revoked" }));
    }
    await thief.release();
    assert.ok((await waiting).fence > thief.fence);
    await (await waiting).release();
  });

  test("a transfer keeps slot, limit and entries", async () => {
    const key = freshKey();
    const options = { limit: 2, ttlMs: TTL };
    await using first = await client().acquire(key, options);
    const second = await client().acquire(key, options);
    await second.setEntry("part", 2);
    const handle = await second.transfer("heir");
    await using heir = await client().resume(handle);
    assert.equal(heir.slot, 1);
    const holders = (await client().inspect(key))?.holders;
    assert.equal(holders?.[1]?.holder, "heir");
    assert.equal(holders?.[1]?.limit, 2);
    assert.deepEqual(holders?.[1]?.entries, { part: 2 });
    await heir.setEntry("part", 3);
    assert.deepEqual((await client().inspect(key))?.holders[1]?.entries, { part: 3 });
    await first.verify();
  });

  test("a holder is told how many want its key", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: 1_500 });
    assert.equal(lease.wanted, 0);
    const told = new Promise((resolve) => lease.addEventListener("wanted", resolve));
    const waiting = client().acquire(key, { ttlMs: TTL, waitMs: WAIT });
    await told;
    assert.equal(lease.wanted, 1);
    await lease.release();
    await (await waiting).release();
  });

  test("a client that enters its own lease again shares one grant, which the last release gives back", async () => {
    const key = freshKey();
    const own = client("job");
    const options = { reentrant: true, ttlMs: TTL, waitMs: 0 };
    const outer = await own.acquire(key, options);
    const inner = await own.acquire(key, options);
    assert.equal(inner.fence, outer.fence);
    await assert.rejects(outer.transfer("heir"), fails("INVALID", { reason: "reentered" }));
    await assert.rejects(
      outer.finish({ keepMs: 60_000 }),
      fails("INVALID", { reason: "reentered" }),
    );
    assert.throws(() => inner.detach(), fails("INVALID", { reason: "reentered" }));
    assert.deepEqual(await inner.release(), { released: false, reason: "reentered" });
    assert.equal(inner.held, false);
    assert.throws(() => inner.check(), fails("LOST", { reason: "released" }));
    await outer.verify();
    // Not by name: another client of that name is another.
    assert.equal(await client("job").tryAcquire(key, options), undefined);
    // Nor for whoever does not ask for it.
    await assert.rejects(own.acquire(key, { waitMs: 0 }), fails("HELD", { reason: "own-lease" }));
    assert.deepEqual(await outer.release(), { released: true });
    assert.equal(await client().inspect(key), undefined);
  });

  test("no renewal reaches beyond the longest hold", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: 600, maxHoldMs: 1_500 });
    const start = Date.now();
    await new Promise((resolve) => lease.signal.addEventListener("abort", resolve));
    const heldMs = Date.now() - start;
    assert.ok(heldMs > 600 && heldMs <= 1_500, `${heldMs} ms`);
    fails("LOST", { reason: "max-hold" })(lease.signal.reason);
    await (await client().acquire(key, { ttlMs: TTL, waitMs: WAIT })).release();
  });
}
