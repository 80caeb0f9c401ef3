import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Lock } from "@upstash/lock";
import { Redis, type RedisConfigNodejs } from "@upstash/redis";
import type { RestEndpoint } from "./endpoint.ts";
import { eventually, suite } from "./harness.ts";

const redis = suite();

type Options = Omit<RedisConfigNodejs, "url" | "token">;
type LockClient = ConstructorParameters<typeof Lock>[0]["redis"];

function client(endpoint: RestEndpoint, options: Options = {}): Redis {
  const { url, token } = endpoint;
  return new Redis({ url, token, enableTelemetry: false, ...options });
}

for (const responseEncoding of ["base64", false] as const) {
  describe(`@upstash/redis, response encoding ${responseEncoding}`, () => {
    const connect = async () => {
      const endpoint = await redis.endpoint();
      const options = { responseEncoding, enableAutoPipelining: false };
      return { endpoint, sdk: client(endpoint, options) };
    };

    test("SET NX PX and GET", async () => {
      const { endpoint, sdk } = await connect();
      assert.equal(await sdk.set("k", "mine 🔒", { nx: true, px: 60_000 }), "OK");
      assert.equal(await sdk.set("k", "theirs", { nx: true, px: 60_000 }), null);
      assert.equal(await sdk.get("k"), "mine 🔒");
      assert.equal(await sdk.get("none"), null);
      const left = await sdk.pttl("k");
      assert.ok(left > 50_000 && left <= 60_000, String(left));
      const encoding = endpoint.requests.all[0]?.headers["upstash-encoding"];
      assert.equal(encoding, responseEncoding || undefined);
    });

    test("EVAL with keys, arguments and a nested reply", async () => {
      const { sdk } = await connect();
      const script =
        "redis.call('SET', KEYS[1], ARGV[1]) return {1, redis.call('GET', KEYS[1]), {'in'}}";
      assert.deepEqual(await sdk.eval(script, ["k"], ["word"]), [1, "word", ["in"]]);
    });

    test("a script goes by hash, with EVAL once the hash is unknown", async () => {
      const { endpoint, sdk } = await connect();
      const script = sdk.createScript<number>(
        "#!lua flags=allow-key-locking\nreturn redis.call('INCRBY', KEYS[1], ARGV[1])",
      );
      assert.equal(await script.exec(["n"], ["5"]), 5);
      assert.equal(await script.exec(["n"], ["5"]), 10);
      await sdk.scriptFlush();
      assert.equal(await script.exec(["n"], ["5"]), 15);
      const names = endpoint.requests.all.map((record) => record.commands[0]?.[0]?.toLowerCase());
      assert.deepEqual(names, ["evalsha", "eval", "evalsha", "script", "evalsha", "eval"]);
    });

    test("pipeline", async () => {
      const { endpoint, sdk } = await connect();
      const piped = await sdk.pipeline().set("a", "x").incr("n").get("a").mget("a", "b").exec();
      assert.deepEqual(piped, ["OK", 1, "x", ["x", null]]);
      assert.deepEqual(
        endpoint.requests.all.map((record) => [record.shape, record.commands.length]),
        [["pipeline", 4]],
      );
    });
  });
}

describe("@upstash/redis", () => {
  test("automatic pipelining turns simultaneous commands into one request", async () => {
    const endpoint = await redis.endpoint();
    const sdk = client(endpoint);
    const values = await Promise.all([sdk.incr("n"), sdk.incr("n"), sdk.incr("n")]);
    assert.deepEqual(values, [1, 2, 3]);
    assert.deepEqual(
      endpoint.requests.all.map((record) => [record.path, record.commands.length]),
      [["/pipeline", 3]],
    );
  });

  test("a command error is an UpstashError with the server's text", async () => {
    const endpoint = await redis.endpoint();
    const sdk = client(endpoint, { enableAutoPipelining: false });
    await sdk.lpush("list", 1);
    await assert.rejects(sdk.get("list"), { name: "UpstashError", message: /^WRONGTYPE / });
  });

  test("subscribe receives what is published, over SSE", async () => {
    const endpoint = await redis.endpoint();
    const sdk = client(endpoint, { enableAutoPipelining: false });
    const news = sdk.subscribe("news");
    const heard: unknown[] = [];
    let ready = false;
    news.on("subscribe", () => {
      ready = true;
    });
    news.on("message", ({ channel, message }) => heard.push([channel, message]));
    await eventually("it is subscribed", () => ready);
    assert.equal(await sdk.publish("news", { text: "hello, world" }), 1);
    await eventually("it has heard", () => heard.length === 1);
    assert.deepEqual(heard, [["news", { text: "hello, world" }]]);
    await news.unsubscribe();
    await eventually("the stream is closed", () => endpoint.streams.open === 0);
  });
});

describe("@upstash/lock", () => {
  // The lock's types name the client's CommonJS build, a distinct class to the compiler.
  const lockOn = (endpoint: RestEndpoint, id: string) =>
    new Lock({
      id,
      redis: client(endpoint) as unknown as LockClient,
      lease: 20_000,
      retry: { attempts: 1, delay: 1 },
    });

  test("one holder at a time, extended and released", async () => {
    const endpoint = await redis.endpoint();
    const [first, second] = [lockOn(endpoint, "job"), lockOn(endpoint, "job")];
    assert.equal(await first.acquire(), true);
    assert.equal(await second.acquire(), false);
    assert.equal(await first.getStatus(), "ACQUIRED");
    assert.equal(await second.release(), false);
    assert.equal(await first.extend(30_000), true);
    const left = await client(endpoint).pttl("job");
    assert.ok(left > 45_000 && left <= 50_000, String(left));
    assert.equal(await first.release(), true);
    assert.equal(await second.acquire(), true);
  });

  test("of 50 contenders exactly one wins", async () => {
    const endpoint = await redis.endpoint();
    const results = await Promise.all(
      Array.from({ length: 50 }, () => lockOn(endpoint, "race").acquire()),
    );
    assert.equal(results.filter(Boolean).length, 1);
  });

  test("a dropped answer makes it lose a lock it holds", async () => {
    const endpoint = await redis.endpoint();
    const dropped = endpoint.faults.add({ kind: "drop-after" });
    const lock = lockOn(endpoint, "job");
    assert.equal(await lock.acquire(), false);
    assert.equal(dropped.fired, 1);
    assert.equal(await client(endpoint).exists("job"), 1);
  });
});
