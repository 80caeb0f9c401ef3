import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { Lease } from "leasehold";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { leaseError } from "../support/bench.ts";
import { client, freshKey, LONG, record } from "./subject.ts";

const redis = suite();

async function waiters(endpoint: RestEndpoint, key: string): Promise<number | undefined> {
  return (await client(endpoint).inspect(key))?.waiters;
}

const lost = (lease: Lease) =>
  lease.signal.aborted
    ? Promise.resolve()
    : new Promise<void>((done) => lease.signal.addEventListener("abort", () => done()));

for (const appendOnly of [true, false]) {
  const kind = appendOnly ? "that keeps every write" : "that keeps nothing";
  describe(`Redis failover: a server ${kind}, killed and restarted`, () => {
    const opened: (RestEndpoint | RedisServer)[] = [];
    after(async () => {
      for (const one of opened) await one.close();
    });
    const start = async () => {
      const server = await RedisServer.start({ appendOnly });
      const endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
      opened.push(endpoint, server);
      return { server, endpoint };
    };

    test("while a lease is held", async () => {
      const { server, endpoint } = await start();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      await server.kill();
      await assert.rejects(lease.renew(), leaseError("UNAVAILABLE"));
      assert.ok(lease.held);
      await server.restart();
      if (appendOnly) {
        await lease.renew();
        assert.equal(await client(endpoint).tryAcquire(key), undefined);
        assert.deepEqual(await lease.release(), { released: true });
      } else {
        await assert.rejects(lease.renew(), leaseError("LOST"));
        assert.equal(lease.held, false);
        assert.equal((await lease.release()).released, false);
      }
      const next = await client(endpoint).acquire(key, { ttlMs: LONG });
      assert.ok(next.fence > lease.fence);
      assert.deepEqual(await next.release(), { released: true });
    });

    test("while a lease is held and for longer than its term: lost in time", async () => {
      const { server, endpoint } = await start();
      const key = freshKey();
      const begun = performance.now();
      const lease = await client(endpoint).acquire(key, { ttlMs: 1_000 });
      await server.kill();
      await lost(lease);
      assert.ok(performance.now() - begun < 1_000);
      await server.restart();
      const next = await client(endpoint).acquire(key, { ttlMs: LONG });
      assert.ok(next.fence > lease.fence);
      await assert.rejects(lease.renew(), leaseError("LOST"));
      await next.verify();
      await next.release();
    });

    test("while others wait: each is served once, with a higher fence", async () => {
      const { server, endpoint } = await start();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: 2_000 });
      const fences: bigint[] = [];
      let holding = 0;
      const waiting = [1, 2].map(async () => {
        const next = await client(endpoint).acquire(key, { ttlMs: LONG, waitMs: 20_000 });
        holding += 1;
        assert.equal(holding, 1);
        fences.push(next.fence);
        await next.verify();
        holding -= 1;
        await next.release();
      });
      await eventually("both wait", async () => (await waiters(endpoint, key)) === 2);
      lease.detach();
      await server.kill();
      await lost(lease);
      await server.restart();
      await Promise.all(waiting);
      assert.equal(fences.length, 2);
      assert.ok((fences[0] ?? 0n) > lease.fence && (fences[1] ?? 0n) > (fences[0] ?? 0n));
      await eventually("the key is free", async () => {
        return (await client(endpoint).inspect(key)) === undefined;
      });
    });
  });
}

describe("Redis failover: the last writes are lost", () => {
  test("the next fence is higher all the same, and the old holder is out", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    await (await client(endpoint).acquire(key)).release();
    const checkpoint = await endpoint.checkpoint();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    await endpoint.rollBack(checkpoint);
    const rival = await client(endpoint).acquire(key, { ttlMs: LONG, waitMs: 0 });
    assert.ok(rival.fence > lease.fence);
    await assert.rejects(lease.renew(), leaseError("LOST"));
    await rival.verify();
    assert.deepEqual(await rival.release(), { released: true });
  });

  test("everything is lost: the next fence is still higher", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const checkpoint = await endpoint.checkpoint();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    await endpoint.rollBack(checkpoint);
    const rival = await client(endpoint).acquire(key, { ttlMs: LONG, waitMs: 0 });
    assert.ok(rival.fence > lease.fence);
  });

  test("a release that is lost: the lease ends by its term", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: 1_000, renew: "manual" });
    const checkpoint = await endpoint.checkpoint();
    assert.deepEqual(await lease.release(), { released: true });
    await endpoint.rollBack(checkpoint);
    const next = await client(endpoint).acquire(key, { ttlMs: LONG });
    assert.ok(next.fence > lease.fence);
  });

  test("a waiter's place that is lost is taken again at the next poll", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const checkpoint = await endpoint.checkpoint();
    const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
    await eventually("it waits", async () => (await waiters(endpoint, key)) === 1);
    await endpoint.rollBack(checkpoint);
    await eventually("it waits again", async () => (await waiters(endpoint, key)) === 1);
    await lease.release();
    await (await waiting).release();
  });
});

describe("Redis failover: eviction", () => {
  test("while others wait: fences still rise and everybody is served", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
    await eventually("it waits", async () => (await waiters(endpoint, key)) === 1);
    assert.deepEqual(await endpoint.evict(), [record(key)]);
    assert.equal((await lease.release()).released, false);
    const next = await waiting;
    assert.ok(next.fence > lease.fence);
    await next.verify();
    assert.deepEqual(await next.release(), { released: true });
  });

  test("of a held lease: LOST at the next word from the host", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    assert.deepEqual(await endpoint.evict(), [record(key)]);
    await assert.rejects(lease.verify(), leaseError("LOST"));
    assert.equal(lease.held, false);
  });
});

describe("Redis fences", () => {
  /** Has the document say that this was the last fence. */
  async function seed(key: string, fence: bigint): Promise<void> {
    const head = `L2 0 ${fence} 0 0 0 0`;
    await redis.direct.send("SET", record(key), [head, "~", "", ""].join("\n"));
  }

  test("go on from the last one where the clock is behind it, exactly", async () => {
    const endpoint = await redis.endpoint();
    // Far above the time in microseconds, up to where numbers stop to be exact.
    for (const last of [4_000_000_000_000_000n, 9_007_199_254_740_989n]) {
      const key = freshKey();
      await seed(key, last);
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      assert.equal(lease.fence, last + 1n);
      assert.equal((await client(endpoint).inspect(key))?.holders[0]?.fence, last + 1n);
      await lease.verify();
      assert.deepEqual(await lease.release(), { released: true });
      const next = await client(endpoint).acquire(key, { ttlMs: LONG });
      assert.equal(next.fence, last + 2n);
    }
  });

  test("that cannot rise any more are not granted", async () => {
    const endpoint = await redis.endpoint();
    for (const last of [9_007_199_254_740_991n, 2n ** 63n - 1n]) {
      const key = freshKey();
      await seed(key, last);
      const exhausted = leaseError("UNAVAILABLE", { reason: "fences-exhausted" });
      await assert.rejects(client(endpoint).acquire(key), exhausted);
      assert.equal(await client(endpoint).inspect(key), undefined);
    }
  });
});
