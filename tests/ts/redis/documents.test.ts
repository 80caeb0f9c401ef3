import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { WireRequest } from "leasehold";
import { upstash } from "leasehold/upstash";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { op } from "../contract/wrappers.ts";
import { ask, client, freshKey, LONG, record, stored } from "./subject.ts";

const redis = suite();

/** CRC-16/XMODEM (polynomial 0x1021, from 0), which a cluster takes modulo 16384. */
function crc16(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = crc & 0x8000 ? ((crc << 1) ^ 0x1021) & 0xffff : (crc << 1) & 0xffff;
    }
  }
  return crc;
}

/** Where a cluster keeps a key: only what the first pair of braces holds counts, if anything. */
function slot(name: string): number {
  const open = name.indexOf("{");
  const close = open < 0 ? -1 : name.indexOf("}", open);
  const tag = close > open + 1 ? name.slice(open + 1, close) : name;
  return crc16(Buffer.from(tag)) % 16_384;
}

/** How long a record is still kept, in milliseconds. */
const left = async (name: string) => Number(await ask(redis.direct, "PTTL", name));

const SECOND = 1_000;
const DAY = 86_400 * SECOND;

describe("Redis documents", () => {
  test("a key has one document, however many hold it, wait for it or have held it", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
    await eventually("it waits", async () => {
      return (await client(endpoint).inspect(key))?.waiters === 1;
    });
    assert.deepEqual(await stored(redis.direct), [record(key)]);
    await lease.release();
    await (await waiting).release();
    assert.deepEqual(await stored(redis.direct), [record(key)]);
  });

  test("a fence is known for 30 days after its grant, and the document no longer", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const kept = async () => {
      const ms = await left(record(key));
      assert.ok(ms > 30 * DAY - 60 * SECOND && ms <= 30 * DAY, `${ms} ms left`);
    };
    await kept();
    await lease.renew();
    await kept();
    await lease.release();
    await kept();
  });

  test("what asking, refusing and cancelling leave behind of a key that nobody held ends soon", async () => {
    const endpoint = await redis.endpoint();
    const send = (request: WireRequest) =>
      op.send(upstash({ url: endpoint.url, token: endpoint.token }), request);
    const first = op.acquire(freshKey());
    const { key } = first;
    await client(endpoint).inspect(key);
    await send(op.release(first));
    assert.deepEqual(await stored(redis.direct), []);
    const remembers = async () => {
      const ms = await left(record(key));
      assert.ok(ms > 10 * SECOND && ms <= 15 * SECOND, `${ms} ms left`);
    };
    // That its acquire, should it still come, is to have no effect.
    await send(op.cancel(first));
    await remembers();
    assert.equal((await send(first)).outcome, "cancelled");
    // Nor is what would revoke, should it come again.
    await client(endpoint).revoke(key);
    await remembers();
  });

  test("all records of a key lie in one slot of a cluster, whatever the key is", async () => {
    const endpoint = await redis.endpoint();
    const keys = [
      "plain",
      "{",
      "}",
      "{}",
      "}{",
      "a}b{c",
      "{user}:1",
      "ключ🔒",
      "\0",
      "x\0{y}",
      "k".repeat(512),
    ];
    for (const key of keys) {
      const leases = client(endpoint);
      const lease = await leases.acquire(key, { ttlMs: LONG });
      await assert.rejects(leases.acquire(key, { waitMs: 20 }));
      await leases.revoke(key);
      await lease.release();
    }
    // Known from the cluster specification.
    assert.equal(crc16(Buffer.from("123456789")), 0x31c3);
    const scripts = endpoint.requests.all
      .filter(({ shape }) => shape === "single")
      .flatMap(({ commands }) => commands);
    const slots = new Set<number>();
    for (const [, , count = "0", ...rest] of scripts) {
      const names = rest.slice(0, Number(count));
      assert.equal(new Set(names.map(slot)).size, 1, JSON.stringify(names));
      slots.add(slot(names[0] ?? ""));
    }
    assert.ok(slots.size > keys.length / 2, "different keys are spread");
  });
});
