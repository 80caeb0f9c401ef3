import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { client, documentOf, freshKey, LONG, scriptsSent } from "./subject.ts";

const redis = suite();

for (const supportsKeyLocking of [true, false]) {
  const server = supportsKeyLocking ? "a server with key locking" : "a plain server";
  describe(`Redis script cache: ${server}`, () => {
    test("flushed before each operation, each is carried out once", async () => {
      const endpoint = await redis.endpoint({ supportsKeyLocking });
      const key = freshKey();
      const rule = endpoint.faults.add({ kind: "script-flush" }, { times: Infinity });
      const leases = client(endpoint);
      const lease = await leases.acquire(key, { ttlMs: LONG, waitMs: 0 });
      assert.equal((await documentOf(redis.direct, key))?.fence, String(lease.fence));
      await lease.renew();
      await lease.verify();
      assert.equal((await leases.inspect(key))?.holders[0]?.fence, lease.fence);
      const handle = await lease.transfer("next");
      const successor = await leases.resume(handle);
      assert.ok(successor.fence > BigInt(handle.fence));
      assert.equal((await documentOf(redis.direct, key))?.fence, String(successor.fence));
      assert.equal(await leases.revoke(key), true);
      assert.equal((await successor.release()).released, false);
      assert.ok(rule.fired >= 8);
      // By hash, then as text; the first call also finds out about the flag.
      assert.ok(scriptsSent(endpoint) <= 8 * 2 + 2, `${scriptsSent(endpoint)} scripts`);
    });

    test("flushed between two polls, the waiter keeps its place and is served", async () => {
      const endpoint = await redis.endpoint({ supportsKeyLocking });
      endpoint.streams.muted = true;
      const key = freshKey();
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
      await eventually("it waits", async () => {
        return (await client(endpoint).inspect(key))?.waiters === 1;
      });
      const queue = async () => (await documentOf(redis.direct, key))?.queue;
      const before = await queue();
      const rule = endpoint.faults.add({ kind: "script-flush" }, { times: Infinity });
      await eventually("it has polled twice more", () => rule.fired >= 2);
      assert.deepEqual(await queue(), before);
      await lease.release();
      const next = await waiting;
      assert.ok(next.fence > lease.fence);
      await next.release();
    });
  });
}

test("the first acquire on a fresh server has its whole term", async () => {
  const endpoint = await redis.endpoint({ supportsKeyLocking: false });
  await redis.direct.send("SCRIPT", "FLUSH");
  // By hash and as text, with the flag and without it: four round trips, of which the last one runs.
  endpoint.faults.add({ kind: "delay-after", ms: 300 }, { times: Infinity });
  const lease = await client(endpoint).acquire(freshKey(), { ttlMs: 3_000, renew: "manual" });
  const left = lease.remainingMs();
  assert.equal(scriptsSent(endpoint), 4);
  // (3000 − 75)·0.99 − 10 − 146 = 2739, counted from the last; from the first 900 less.
  assert.ok(left > 1_900 && left <= 2_439, `${left} ms left`);
  await lease.release();
});

describe("Redis script cache: a server that never has the script", () => {
  test("NOSCRIPT every other time is no loop: two requests per operation", async () => {
    const endpoint = await redis.endpoint();
    const error = "NOSCRIPT No matching script. Please use EVAL.";
    endpoint.faults.add({ kind: "reply-error", error }, { command: "evalsha", times: Infinity });
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
    await lease.renew();
    assert.deepEqual(await lease.release(), { released: true });
    assert.equal(scriptsSent(endpoint), 6);
  });

  test("NOSCRIPT for the text as well: no answer, asked again with pauses", async () => {
    const endpoint = await redis.endpoint();
    const error = "NOSCRIPT No matching script. Please use EVAL.";
    endpoint.faults.add({ kind: "reply-error", error }, { times: Infinity });
    const acquiring = client(endpoint).acquire(freshKey(), { waitMs: 1_000 });
    await assert.rejects(acquiring, leaseError("UNAVAILABLE"));
    assert.ok(scriptsSent(endpoint) <= 2 * 12, `${scriptsSent(endpoint)} scripts in a second`);
  });

  test("a refused flag is found out once, however many calls are under way", async () => {
    const endpoint = await redis.endpoint({ supportsKeyLocking: false });
    const leases = client(endpoint);
    const all = await Promise.all(
      Array.from({ length: 10 }, () => leases.acquire(freshKey(), { ttlMs: LONG })),
    );
    const before = scriptsSent(endpoint);
    for (const lease of all) await lease.verify();
    assert.equal(scriptsSent(endpoint) - before, all.length);
    for (const lease of all) await lease.release();
  });
});
