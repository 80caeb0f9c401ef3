import assert from "node:assert/strict";
import { test } from "node:test";
import { type LeaseClient, LeaseError } from "leasehold";

/** A term that does not end while a test runs. */
const TTL = 5_000;
const WAIT = 30_000;

/** What every host does for those who want several keys, or leave. */
export function setsAndClosing(client: () => LeaseClient, freshKey: () => string): void {
  const fails = (code: string, properties: Partial<LeaseError>) => (error: unknown) => {
    assert.ok(error instanceof LeaseError, String(error));
    assert.deepEqual({ ...error, ...properties }, { ...error });
    assert.equal(error.code, code);
    return true;
  };

  test("many who want the same keys in any order take turns, without a deadlock", async () => {
    const [a, b, c] = [freshKey(), freshKey(), freshKey()];
    const orders = [
      [a, b, c],
      [c, b, a],
      [b, c],
      [c, a],
      [b, a, c],
    ];
    const users = new Map<string, number>();
    const fences = new Map<string, bigint>();
    await Promise.all(
      orders.map(async (keys) => {
        const leases = client();
        for (let round = 0; round < 3; round += 1) {
          await leases.runAll(keys, { ttlMs: TTL, waitMs: WAIT }, async (set) => {
            for (const { key, fence } of set.leases) {
              assert.equal(users.get(key) ?? 0, 0, "one user at a time");
              users.set(key, 1);
              assert.ok(fence > (fences.get(key) ?? 0n), "fences rise");
              fences.set(key, fence);
            }
            await new Promise((resolve) => setTimeout(resolve, 5));
            for (const key of keys) users.set(key, 0);
          });
        }
      }),
    );
    assert.equal(fences.size, 3);
  });

  test("of several keys one gets all or none", async () => {
    const [a, b, c] = [freshKey(), freshKey(), freshKey()].sort() as [string, string, string];
    await using other = await client().acquire(b, { ttlMs: TTL });
    const tried = client().acquireAll([c, b, a], { waitMs: 0 });
    await assert.rejects(tried, fails("HELD", { key: b }));
    await (await client().acquire(a, { waitMs: WAIT })).release();
    assert.equal(await client().inspect(c), undefined);
    await other.verify();
  });

  test("a set has one signal: the loss of one lease", async () => {
    const [a, b] = [freshKey(), freshKey()].sort() as [string, string];
    const set = await client().acquireAll([a, b], { ttlMs: 3_000, waitMs: WAIT });
    const lost = new Promise((resolve) => set.signal.addEventListener("abort", resolve));
    assert.equal(await client().revoke(b), true);
    await lost;
    fails("LOST", { key: b, reason: "revoked" })(set.signal.reason);
    assert.throws(() => set.check(), fails("LOST", { key: b }));
    assert.deepEqual(await set.release(), { released: [a], unconfirmed: [b] });
  });

  test("a client that closes leaves its keys free and its places in the queues empty", async () => {
    const [mine, others] = [freshKey(), freshKey()];
    await using other = await client().acquire(others, { ttlMs: TTL });
    const leaving = client();
    const lease = await leaving.acquire(mine, { ttlMs: TTL });
    const cut = assert.rejects(
      leaving.acquire(others, { waitMs: WAIT }),
      fails("INVALID", { reason: "closed" }),
    );
    assert.deepEqual(await leaving.close(), { released: [mine], unconfirmed: [] });
    await cut;
    assert.equal(lease.held, false);
    assert.equal(await client().inspect(mine), undefined);
    assert.equal((await client().inspect(others))?.waiters, 0);
    await assert.rejects(leaving.inspect(mine), fails("INVALID", { reason: "closed" }));
    await other.verify();
  });
}
