import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Lease } from "leasehold";
import { TestClock } from "leasehold/testing";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { client, documentOf, freshKey, LONG } from "./subject.ts";
import { timed } from "./timed.ts";

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
      // The document read, the time, the document written, where there is something to write.
      [
        "acquire",
        3,
        async () => {
          lease = await leases.acquire(key, { ttlMs: LONG });
        },
      ],
      ["renew", 3, async () => lease?.renew()],
      ["verify", 2, async () => lease?.verify()],
      ["a denied acquire", 2, () => leases.tryAcquire(key)],
      ["inspect", 2, () => leases.inspect(key)],
      ["release, nobody waiting", 2, async () => lease?.release()],
    ];
    for (const [name, most, work] of steps) {
      const bill = await endpoint.commands.during(work);
      assert.equal(bill.sent, 1, name);
      assert.ok(bill.inScript <= most, `${name}: ${JSON.stringify(bill.byName)}`);
    }
    const pair = await endpoint.commands.during(async () => {
      await (await leases.acquire(key, { ttlMs: LONG })).release();
    });
    assert.ok(pair.total <= 7, JSON.stringify(pair.byName));
  });

  for (const crowd of [20, 100]) {
    test(`a grant among ${crowd} waiters, from asking to giving back, costs 16 commands`, async () => {
      const endpoint = await redis.endpoint();
      // Time stands still: nobody asks again but who is told to, and nobody's place lapses.
      const clock = new TestClock();
      const still: typeof fetch = (input, init) => {
        const body = init?.body;
        const command = typeof body === "string" && JSON.stringify(timed(JSON.parse(body), 0));
        return fetch(input, command === false ? init : { ...init, body: command });
      };
      const leases = () => client(endpoint, { clock, endpoint: { fetch: still } });
      const key = freshKey();
      const first = await leases().acquire(key, { ttlMs: LONG });
      const bill = await endpoint.commands.during(async () => {
        const queue = Array.from({ length: crowd }, () =>
          leases()
            .acquire(key, { ttlMs: LONG, waitMs: 30_000 })
            .then((lease) => lease.release()),
        );
        await eventually("all wait and listen", async () => {
          const waiting = (await documentOf(redis.direct, key))?.queue.length;
          const channels = await redis.direct.send("PUBSUB", "CHANNELS", "leasehold:wake:*");
          return waiting === crowd && channels.kind === "array" && channels.items?.length === crowd;
        });
        await first.release();
        await Promise.all(queue);
      });
      assert.ok(bill.total <= crowd * 16, JSON.stringify(bill));
      assert.ok(bill.sent <= crowd * 4, JSON.stringify(bill));
    });
  }

  test("only scripts that may write are sent, which no replica serves", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const leases = client(endpoint);
    const lease = await leases.acquire(key, { ttlMs: LONG });
    await leases.inspect(key);
    await lease.verify();
    assert.equal(await leases.tryAcquire(key), undefined);
    await lease.release();
    const names = endpoint.requests.all.map(({ commands }) => commands[0]?.[0]);
    assert.deepEqual(new Set(names), new Set(["EVALSHA", "EVAL"]));
  });
});
