/** What the tables of `docs/recipes.md` say of other lock libraries and of leases, side by side. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Lock } from "@upstash/lock";
import { Redis as Upstash } from "@upstash/redis";
import { Redis } from "ioredis";
import { LeaseClient } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { upstash } from "leasehold/upstash";
import { Mutex, Semaphore } from "redis-semaphore";
// @ts-expect-error: its types are not where its exports look for them
import Redlock from "redlock";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { leaseError } from "../support/bench.ts";

describe("moving to leases", () => {
  let server: RedisServer;
  let client: Redis;
  let leases: LeaseClient;
  before(async () => {
    server = await RedisServer.start();
    client = new Redis(server.port, "127.0.0.1");
    leases = new LeaseClient(ioredis(client));
  });
  after(async () => {
    await leases.close();
    client.disconnect();
    await server.close();
  });

  test("from redlock", async () => {
    const locks = new Redlock([client], { retryCount: 0 });
    assert.equal(
      await locks.using(["r1"], 5_000, async (signal: AbortSignal) => signal.aborted),
      false,
    );
    assert.equal(
      await leases.run("a1", { ttlMs: 5_000 }, async ({ signal }) => signal.aborted),
      false,
    );

    const lock = await locks.acquire(["r2", "r3"], 5_000);
    await assert.rejects(locks.acquire(["r3"], 5_000), { name: "ExecutionError" });
    await using set = await leases.acquireAll(["a2", "a3"], { ttlMs: 5_000 });
    assert.equal(await leases.tryAcquire("a3"), undefined);
    await assert.rejects(leases.acquire("a3", { waitMs: 0 }), leaseError("HELD"));
    await assert.rejects(leases.acquire("a3", { waitMs: 50 }), leaseError("TIMEOUT"));
    void set;

    const extended = await lock.extend(60_000);
    assert.ok(extended.expiration > Date.now() + 50_000);
    const lease = await leases.acquire("a4", { ttlMs: 5_000, renew: "manual" });
    await lease.renew({ ttlMs: 60_000 });
    assert.ok(lease.remainingMs() > 50_000);

    await client.del("r2", "r3");
    await assert.rejects(extended.release(), { name: "ExecutionError" });
    await leases.revoke("a4");
    assert.deepEqual((await lease.release()).released, false);
  });

  test("from @upstash/lock", async () => {
    await using endpoint = await RestEndpoint.start({
      redis: { port: server.port },
      supportsKeyLocking: true,
    });
    const { url, token } = endpoint;
    const redis = new Upstash({ url, token });
    const its = redis as never; // It means the types of another copy.
    const retry = { attempts: 1, delay: 1 };
    const lock = new Lock({ id: "u1", redis: its, lease: 5_000, retry });
    assert.equal(await lock.acquire(), true);
    assert.equal(await new Lock({ id: "u1", redis: its, retry }).acquire(), false);
    assert.equal(await lock.extend(60_000), true);
    assert.ok((await redis.pttl("u1")) > 61_000, "it adds to the lease");

    await using ours = new LeaseClient(upstash({ redis }), { ttlMs: 5_000 });
    const lease = await ours.tryAcquire("b1");
    assert.ok(lease?.held);
    assert.equal(await ours.tryAcquire("b1"), undefined);
    await lease.renew({ ttlMs: 60_000 });
    assert.ok(lease.remainingMs() <= 60_000, "a new term begins");

    await redis.del("u1");
    assert.equal(await lock.release(), false);
    await ours.revoke("b1");
    assert.equal((await lease.release()).released, false);

    const moved = await ours.acquire("b2");
    const resumed = await ours.resume(moved.detach());
    assert.ok(resumed.fence > moved.fence);
  });

  test("from redis-semaphore", async () => {
    const mutex = new Mutex(client, "m1", { refreshInterval: 0 });
    await mutex.acquire();
    // Without a limit to the attempts it waits as long as `acquire` does, which would throw then.
    const once = { refreshInterval: 0, acquireAttemptsLimit: 1 };
    assert.equal(await new Mutex(client, "m1", once).tryAcquire(), false);
    await using _lease = await leases.acquire("c0");
    assert.equal(await leases.tryAcquire("c0"), undefined);
    await client.del("mutex:m1");
    assert.equal(mutex.isAcquired, true, "as far as it has heard");

    const permits = [1, 2, 3].map(() => new Semaphore(client, "s1", 2, once));
    const had = [];
    for (const permit of permits) had.push(await permit.tryAcquire());
    assert.deepEqual(had, [true, true, false]);
    const ours = [];
    for (const _ of permits) ours.push(await leases.tryAcquire("c1", { limit: 2 }));
    assert.deepEqual(
      ours.map((lease) => lease?.slot),
      [0, 1, undefined],
    );
  });

  test("from Web Locks", async () => {
    const reader = await leases.acquire("d1", { mode: "shared" });
    await using second = await leases.acquire("d1", { mode: "shared" });
    assert.equal(await leases.tryAcquire("d1"), undefined);
    const state = await leases.inspect("d1");
    assert.deepEqual(
      state?.holders.map(({ fence }) => fence),
      [reader.fence, second.fence],
    );
    const thief = await leases.acquire("d1", { steal: true });
    await assert.rejects(reader.verify(), leaseError("LOST", { reason: "revoked" }));
    assert.equal(reader.signal.aborted, true);
    thief.check();
  });
});
