import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { LeaseClient, type LeaseError } from "leasehold";
import { type RedisConnection, redis as redisHost } from "leasehold/redis";
import { upstash } from "leasehold/upstash";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { documentOf, freshKey, LONG, value } from "./subject.ts";

const redis = suite();

const send: RedisConnection["send"] = async (command) => value(await redis.direct.send(...command));

const clientOver = (connection: RedisConnection) => new LeaseClient(redisHost(connection));

describe("Redis seam: a client of one's own", () => {
  test("send alone is enough, waiting included", async () => {
    const key = freshKey();
    const leases = clientOver({ send });
    const lease = await leases.acquire(key, { ttlMs: LONG });
    const waiting = leases.acquire(key, { ttlMs: LONG });
    await eventually("it waits", async () => (await leases.inspect(key))?.waiters === 1);
    await lease.release();
    assert.deepEqual(await (await waiting).release(), { released: true });
  });

  const listeners: readonly (readonly [string, unknown])[] = [
    [
      "throws",
      () => {
        throw new Error("no subscriptions");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no subscriptions"))],
    ["rejects with nothing", () => Promise.reject()],
    ["returns nothing", () => undefined],
    ["never settles", () => new Promise(() => {})],
    ["ends at once", async () => {}],
  ];
  for (const [name, listen] of listeners) {
    test(`a listen that ${name} costs latency only`, async () => {
      const key = freshKey();
      const leases = clientOver({ send, listen: listen as NonNullable<RedisConnection["listen"]> });
      const lease = await leases.acquire(key, { ttlMs: LONG });
      const waiting = leases.acquire(key, { ttlMs: LONG });
      await eventually("it waits", async () => (await leases.inspect(key))?.waiters === 1);
      await lease.release();
      assert.deepEqual(await (await waiting).release(), { released: true });
    });
  }

  test("a listen is made once per wait, told when it is over, and a late message hurts nobody", async () => {
    const key = freshKey();
    const heard: { channel: string; onMessage: () => void; signal: AbortSignal }[] = [];
    const leases = clientOver({
      send,
      listen: async (channel, onMessage, signal) => void heard.push({ channel, onMessage, signal }),
    });
    const lease = await leases.acquire(key, { ttlMs: LONG });
    const waiting = leases.acquire(key, { ttlMs: LONG, waitMs: 1_200 });
    await assert.rejects(waiting, leaseError("TIMEOUT"));
    assert.equal(heard.length, 1);
    const [{ channel, onMessage, signal } = assert.fail()] = heard;
    assert.match(channel, /^leasehold:wake:[0-9a-f]{16}$/);
    await eventually("it listens no more", () => signal.aborted);
    onMessage();
    await lease.verify();
    await lease.release();
  });

  test("messages while a poll is on its way make one more poll, not many", async () => {
    const key = freshKey();
    let polls = 0;
    let wake = () => {};
    const leases = clientOver({
      send: (command, signal) => {
        if (command.at(-1)?.includes('"acquire"')) polls += 1;
        return send(command, signal);
      },
      listen: async (_channel, onMessage) => {
        wake = onMessage;
      },
    });
    const lease = await leases.acquire(key, { ttlMs: LONG });
    const abort = new AbortController();
    const waiting = leases.acquire(key, { ttlMs: LONG, signal: abort.signal });
    await eventually("it listens", async () => (await leases.inspect(key))?.waiters === 1);
    await new Promise((resolve) => setImmediate(resolve));
    const before = polls;
    for (let times = 0; times < 50; times += 1) wake();
    await eventually("it has asked", () => polls > before);
    await leases.inspect(key);
    assert.ok(polls - before <= 2, `${polls - before} polls`);
    abort.abort(new Error("enough"));
    await assert.rejects(waiting, /enough/);
    await lease.release();
  });

  const failures: readonly (readonly [string, () => Promise<unknown>])[] = [
    ["rejects with an error of its own", () => Promise.reject(new Error("connect ECONNREFUSED"))],
    ["rejects with a word", () => Promise.reject("closed")],
    ["rejects with nothing", () => Promise.reject()],
    [
      "throws",
      () => {
        throw new Error("not connected");
      },
    ],
    ["gives null", async () => null],
    ["gives a number", async () => 7],
    ["gives what cannot be read", async () => [{ toString: () => assert.fail("nothing to read") }]],
  ];
  for (const [name, broken] of failures) {
    test(`a send that ${name} is UNAVAILABLE`, async () => {
      const leases = clientOver({ send: broken });
      await assert.rejects(leases.tryAcquire("k"), leaseError("UNAVAILABLE"));
      await assert.rejects(leases.inspect("k"), leaseError("UNAVAILABLE"));
    });
  }

  test("an error that carries the command, as clients' do, does not carry it on", async () => {
    const commands: string[][] = [];
    const leases = clientOver({
      send: async (command) => {
        commands.push(command);
        const error = new Error(`Connection is closed, command was ${command.join(" ")}`);
        throw Object.assign(error, { code: "ECONNRESET", command });
      },
    });
    const error = await leases
      .tryAcquire("k", { holder: "a-secret-holder" })
      .catch((e: LeaseError) => e);
    const shown = inspect(error, { depth: 20, showHidden: true });
    assert.match(shown, /ECONNRESET/);
    const secret = /\b[0-9a-f]{32}\b|[a-z-]*secret[a-z-]*/g;
    const secrets = commands.flat().flatMap((word) => word.match(secret) ?? []);
    assert.ok(secrets.length >= 2);
    for (const secret of secrets) assert.ok(!shown.includes(secret), shown);
  });

  test("a send that never settles ends by our own deadline, told through the signal", async () => {
    const signals: AbortSignal[] = [];
    const leases = clientOver({
      send: (_command, signal) => {
        signals.push(signal);
        return new Promise(() => {});
      },
    });
    await assert.rejects(leases.tryAcquire("k"), leaseError("UNAVAILABLE"));
    assert.ok(signals[0]?.aborted);
  });

  test("a host shows neither its token nor its URL's secrets", () => {
    const host = upstash({ url: "https://u.example", token: "secret-token" });
    assert.ok(!inspect(host, { depth: 20, showHidden: true }).includes("secret-token"));
    assert.ok(!JSON.stringify(host).includes("secret-token"));
  });

  test("bytes and strings as replies are the same", async () => {
    const key = freshKey();
    const leases = clientOver({
      send: async (command, signal) => {
        const reply = await send(command, signal);
        return Array.isArray(reply) ? reply.map((word) => Buffer.from(String(word))) : reply;
      },
    });
    const lease = await leases.acquire(key, { ttlMs: LONG, holder: "ключ🔒" });
    assert.equal((await leases.inspect(key))?.holders[0]?.holder, "ключ🔒");
    assert.equal((await documentOf(redis.direct, key))?.fence, String(lease.fence));
    await lease.release();
  });
});
