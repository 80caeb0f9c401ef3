import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
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

describe("Redis rows", () => {
  test("an idle key keeps its fence and nothing else, the fence without an end", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
    await eventually("it waits", async () => {
      return (await client(endpoint).inspect(key))?.waiters === 1;
    });
    assert.deepEqual(
      await stored(redis.direct),
      (["fence", "lease", "presence", "queue"] as const).map((what) => record(key, what)),
    );
    await lease.release();
    await (await waiting).release();
    assert.deepEqual(await stored(redis.direct), [record(key, "fence"), record(key, "lease")]);
    assert.equal(await ask(redis.direct, "PTTL", record(key, "fence")), "-1");
    const left = Number(await ask(redis.direct, "PTTL", record(key, "lease")));
    assert.ok(left > 0 && left <= 60_000, `${left} ms left`);
    // What remembers earlier operations for a minute is of no account after it.
    await redis.direct.send("DEL", record(key, "lease"));
    const again = await client(endpoint).acquire(key);
    assert.ok(again.fence > lease.fence);
    await again.release();
  });

  test("while held, the record outlives the term by what is remembered, and no more", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const left = Number(await ask(redis.direct, "PTTL", record(key, "lease")));
    assert.ok(left > LONG && left <= LONG + 60_000, `${left} ms left`);
    await lease.release();
  });

  test("all that waiting, cancelling, refusing and asking leaves behind has an end", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const leases = client(endpoint);
    const lease = await leases.acquire(key, { ttlMs: LONG });
    await assert.rejects(leases.acquire(key, { waitMs: 50 }));
    assert.equal(await leases.tryAcquire(key), undefined);
    const abort = new AbortController();
    const waiting = leases.acquire(key, { signal: abort.signal });
    await eventually("it waits", async () => (await leases.inspect(key))?.waiters === 1);
    for (const name of await stored(redis.direct)) {
      const ends = (await ask(redis.direct, "PTTL", name)) !== "-1";
      assert.equal(ends, name !== record(key, "fence"), name);
    }
    abort.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await eventually("it has left", async () => (await leases.inspect(key))?.waiters === 0);
    await lease.release();
    assert.deepEqual(await stored(redis.direct), [record(key, "fence"), record(key, "lease")]);
    // A key that nobody ever held: at most the memory of being asked, and no fence.
    const unused = freshKey();
    await leases.inspect(unused);
    await leases.revoke(unused);
    assert.equal(await ask(redis.direct, "EXISTS", record(unused, "fence")), "0");
    for (const name of await stored(redis.direct)) {
      const left = Number(await ask(redis.direct, "PTTL", name));
      assert.ok(name === record(key, "fence") || (left > 0 && left <= 60_000), name);
    }
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

  test("1024 waiters that died keep nobody from waiting", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const leases = client(endpoint);
    const lease = await leases.acquire(key, { ttlMs: LONG });
    await assert.rejects(leases.acquire(key, { waitMs: 20 }));
    for (let dead = 0; dead < 1_024; dead += 1) {
      const op = dead.toString(16).padStart(32, "0");
      await redis.direct.sendAll([
        ["ZADD", record(key, "queue"), String(dead), op],
        ["HSET", record(key, "presence"), op, "1 leasehold:wake:0"],
      ]);
    }
    const waiting = client(endpoint).acquire(key, { ttlMs: LONG });
    await eventually("it waits, and the dead are gone", async () => {
      return (await client(endpoint).inspect(key))?.waiters === 1;
    });
    await lease.release();
    await (await waiting).release();
  });
});
