import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import type { Fault, FaultKind, FaultRule } from "../../rest-endpoint/faults.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { client, documentOf, freshKey, LONG } from "./subject.ts";

const redis = suite();

const FAULTS: readonly [string, Fault][] = [
  ["is lost on the way there", { kind: "drop-before" }],
  ["is lost on the way back", { kind: "drop-after" }],
  [
    "is carried out and answered by 502",
    { kind: "status", status: 502, body: "html", after: true },
  ],
  ["is carried out and answered by nothing", { kind: "empty", after: true }],
  ["is carried out and its answer cut short", { kind: "truncate" }],
  ["is carried out twice", { kind: "duplicate" }],
];

/** Meets the next script, with the scripts known to the server already. */
function next(endpoint: RestEndpoint, fault: Fault): FaultRule {
  return endpoint.faults.add(fault, { command: "evalsha" });
}

async function warm(): Promise<RestEndpoint> {
  const endpoint = await redis.endpoint();
  const leases = client(endpoint);
  const key = freshKey();
  const lease = await leases.acquire(key);
  await lease.renew();
  const successor = await leases.resume(await lease.transfer("next"));
  await successor.release();
  await leases.inspect(key);
  await leases.revoke(key);
  return endpoint;
}

/** The fence of the newest grant, as stored. */
const newest = async (key: string) => BigInt((await documentOf(redis.direct, key))?.fence ?? 0);

/** Waits until every request that met such a fault has been dealt with, awaited or not. */
function carriedOut(endpoint: RestEndpoint, kind: FaultKind): Promise<void> {
  return eventually(`${kind} is over`, () =>
    endpoint.requests.all.every(
      ({ faults, status }) => !faults.includes(kind) || status !== undefined,
    ),
  );
}

for (const [name, fault] of FAULTS) {
  describe(`Redis: a request that ${name}`, () => {
    test("acquire: one fence, no orphan", async () => {
      const endpoint = await warm();
      const key = freshKey();
      const rule = next(endpoint, fault);
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      assert.equal(rule.fired, 1);
      assert.equal(lease.fence, await newest(key));
      assert.deepEqual(await lease.release(), { released: true });
      assert.equal(await client(endpoint).inspect(key), undefined);
      const rival = await client(endpoint).tryAcquire(key);
      assert.ok(rival);
      await rival.release();
    });

    test("a single attempt: granted, or taken back", async () => {
      const endpoint = await warm();
      const key = freshKey();
      next(endpoint, fault);
      const lease = await client(endpoint)
        .tryAcquire(key, { ttlMs: LONG })
        .catch((error: unknown) => {
          leaseError("UNAVAILABLE")(error);
          return undefined;
        });
      await lease?.release();
      await eventually("the key is free", async () => {
        return (await client(endpoint).inspect(key)) === undefined;
      });
    });

    test("renew: sets the term and never adds to it", async () => {
      const endpoint = await warm();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: 10_000, renew: "manual" });
      next(endpoint, fault);
      // Each call is one attempt.
      await lease.renew().catch(leaseError("UNAVAILABLE"));
      assert.ok(lease.held);
      await lease.renew();
      const [info] = (await client(endpoint).inspect(key))?.holders ?? [];
      assert.ok(info && info.remainingMs <= 10_000 && info.remainingMs > 5_000);
      assert.ok(lease.remainingMs() <= info.remainingMs);
      assert.equal(info.fence, lease.fence);
      await lease.release();
    });

    test("verify: tells what is", async () => {
      const endpoint = await warm();
      const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
      next(endpoint, fault);
      await lease.verify();
      assert.ok(lease.held);
      await lease.release();
    });

    test("release: has released, and frees nobody else's lease", async () => {
      const endpoint = await warm();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
      await eventually("the rival waits", async () => {
        return (await client(endpoint).inspect(key))?.waiters === 1;
      });
      next(endpoint, fault);
      assert.deepEqual(await lease.release(), { released: true });
      const rival = await waiting;
      await rival.verify();
      assert.ok(rival.fence > lease.fence);
      await rival.release();
    });

    test("transfer and resume: happen once", async () => {
      const endpoint = await warm();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      next(endpoint, fault);
      const handle = await lease.transfer("next");
      assert.equal(await newest(key), BigInt(handle.fence));
      next(endpoint, fault);
      const successor = await client(endpoint).resume(handle);
      assert.equal(await newest(key), successor.fence);
      assert.deepEqual(await successor.release(), { released: true });
    });

    test("cancel: the place in the queue is given up", async () => {
      const endpoint = await warm();
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      const abort = new AbortController();
      const waiting = client(endpoint).acquire(key, { signal: abort.signal });
      await eventually("it waits", async () => {
        return (await client(endpoint).inspect(key))?.waiters === 1;
      });
      next(endpoint, fault);
      abort.abort(new Error("enough"));
      await assert.rejects(waiting, /enough/);
      await eventually("it has left", async () => {
        return (await documentOf(redis.direct, key))?.queue.length === 0;
      });
      await lease.release();
    });
  });
}

describe("Redis: answers later than an attempt lasts", () => {
  test("a grant that comes when nobody awaits it is adopted by the retry, with its fence", async () => {
    const endpoint = await warm();
    const key = freshKey();
    endpoint.faults.add({ kind: "delay-after", ms: 6_500 }, { command: "evalsha" });
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG, waitMs: 10_000 });
    assert.equal(await newest(key), lease.fence);
    assert.ok(lease.remainingMs() < LONG);
    assert.deepEqual(await lease.release(), { released: true });
    assert.equal(await client(endpoint).inspect(key), undefined);
  });

  test("a request that is carried out after it was given up does not hold the key", async () => {
    const endpoint = await warm();
    const key = freshKey();
    const rule = endpoint.faults.add({ kind: "delay-before", ms: 6_000 }, { command: "evalsha" });
    const late = client(endpoint).tryAcquire(key, { ttlMs: LONG });
    await assert.rejects(late, leaseError("UNAVAILABLE"));
    assert.equal(rule.fired, 1);
    await carriedOut(endpoint, "delay-before");
    assert.equal(await client(endpoint).inspect(key), undefined);
    assert.ok(await client(endpoint).tryAcquire(key));
  });

  test("a renewal that is carried out after the release brings nothing back", async () => {
    const endpoint = await warm();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG, renew: "manual" });
    const rule = endpoint.faults.add({ kind: "delay-before", ms: 300 }, { command: "evalsha" });
    const renewing = lease.renew().catch(() => {});
    await eventually("the renewal is on its way", () => rule.fired === 1);
    assert.deepEqual(await lease.release(), { released: true });
    await renewing;
    await carriedOut(endpoint, "delay-before");
    assert.equal(await client(endpoint).inspect(key), undefined);
  });
});
