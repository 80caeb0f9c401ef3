import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Lease } from "leasehold";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { client, freshKey, LONG } from "./subject.ts";

const redis = suite();

describe("Redis: what operations cost", () => {
  test("one request each, and so many commands in its script", async () => {
    const endpoint = await redis.endpoint();
    const leases = client(endpoint);
    const warm = await leases.acquire(freshKey(), { ttlMs: LONG });
    await warm.renew();
    await warm.release();
    await leases.inspect(freshKey());

    const key = freshKey();
    let lease: Lease | undefined;
    const steps: readonly (readonly [string, number, () => Promise<unknown>])[] = [
      // Time, record and fence, each read and written where there is something to write.
      [
        "acquire",
        4,
        async () => {
          lease = await leases.acquire(key, { ttlMs: LONG });
        },
      ],
      ["renew", 3, async () => lease?.renew()],
      ["verify", 2, async () => lease?.verify()],
      ["a denied acquire", 2, () => leases.tryAcquire(key)],
      ["inspect", 2, () => leases.inspect(key)],
      ["release", 3, async () => lease?.release()],
      [
        "acquire again",
        4,
        async () => {
          lease = await leases.acquire(key, { ttlMs: LONG });
        },
      ],
    ];
    for (const [name, most, work] of steps) {
      const bill = await endpoint.commands.during(work);
      assert.equal(bill.sent, 1, name);
      assert.ok(bill.inScript <= most, `${name}: ${JSON.stringify(bill.byName)}`);
    }
    await lease?.release();
  });

  test("a grant costs the same however many wait", async () => {
    const costs: number[] = [];
    for (const crowd of [5, 40]) {
      const endpoint = await redis.endpoint();
      const key = freshKey();
      const first = await client(endpoint).acquire(key, { ttlMs: LONG });
      const queue = Array.from({ length: crowd }, () =>
        client(endpoint)
          .acquire(key, { ttlMs: LONG, waitMs: 30_000 })
          .then((lease) => lease.release()),
      );
      await eventually("all wait and listen", async () => {
        return (
          (await client(endpoint).inspect(key))?.waiters === crowd &&
          endpoint.streams.open === crowd
        );
      });
      const begun = performance.now();
      const bill = await endpoint.commands.during(async () => {
        await first.release();
        await Promise.all(queue);
      });
      // Polls that fall due while the queue is served are not the hand-over's.
      const polls = Math.ceil((performance.now() - begun) / 450) * crowd * 6;
      costs.push(Math.max(0, bill.total - polls) / crowd);
      assert.ok(bill.total <= crowd * 16 + polls, `${bill.total} commands for ${crowd} grants`);
    }
    const [few = 0, many = 0] = costs;
    assert.ok(many <= few + 6, `${few} and ${many} commands per grant`);
  });

  test("a lagging replica is never asked: every answer is the primary's", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    await endpoint.replica.lag();
    const leases = client(endpoint);
    const lease = await leases.acquire(key, { ttlMs: LONG });
    assert.equal((await leases.inspect(key))?.holders[0]?.fence, lease.fence);
    await lease.verify();
    assert.equal(await leases.tryAcquire(key), undefined);
    await lease.release();
    assert.equal(await leases.inspect(key), undefined);
    assert.equal(endpoint.faults.count("stale-read"), 0);
    endpoint.replica.catchUp();
  });
});
