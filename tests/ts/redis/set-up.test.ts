/** Servers and clients that are not set up for leases, as they are told at first use. */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Redis as UpstashRedis } from "@upstash/redis";
import { Redis } from "ioredis";
import { LeaseClient } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { nodeRedis } from "leasehold/node-redis";
import { redis as redisHost } from "leasehold/redis";
import { upstash } from "leasehold/upstash";
import { createClient } from "redis";
import { suite } from "../../rest-endpoint/harness.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { leaseError } from "../support/bench.ts";
import { RedisCluster } from "./cluster.ts";
import { ask, client, documentOf, freshKey, LONG, stored } from "./subject.ts";

const redis = suite();

/** Leases over a client of ioredis that is closed after the test. */
function over(port: number, options: Parameters<typeof ioredis>[1] = {}) {
  const connection = new Redis(port);
  connection.on("error", () => {});
  return {
    leases: new LeaseClient(ioredis(connection, options)),
    [Symbol.dispose]: () => connection.disconnect(),
  };
}

describe("Redis set-up: eviction", () => {
  for (const policy of ["allkeys-lru", "volatile-ttl"]) {
    test(`a server with ${policy} is refused at the first acquire, and granted nothing`, async () => {
      const settings = ["--maxmemory", "100mb", "--maxmemory-policy", policy];
      await using server = await RedisServer.start({ settings });
      using subject = over(server.port);
      await assert.rejects(subject.leases.acquire("k"), (error: Error) => {
        leaseError("INVALID", { reason: "eviction" })(error);
        assert.ok(error.message.includes(policy));
        return true;
      });
      assert.equal(await subject.leases.inspect("k"), undefined);
      using allowed = over(server.port, { allowEviction: true });
      const lease = await allowed.leases.acquire("k", { ttlMs: LONG });
      assert.deepEqual(await lease.release(), { released: true });
    });
  }

  test("a policy that comes to nothing, for want of a limit, is none", async () => {
    await using server = await RedisServer.start({
      settings: ["--maxmemory-policy", "allkeys-lru"],
    });
    using subject = over(server.port);
    assert.ok(await subject.leases.tryAcquire("k", { ttlMs: LONG }));
  });

  test("the server is asked once", async () => {
    const connection = new Redis(redis.server.port);
    const sent: string[] = [];
    const send = ([name = "", ...args]: string[]) => {
      sent.push(name);
      return connection.call(name, args);
    };
    const leases = new LeaseClient(redisHost({ send }));
    for (let times = 0; times < 3; times += 1) {
      await (await leases.acquire(freshKey())).release();
    }
    connection.disconnect();
    assert.equal(sent.filter((name) => name === "INFO").length, 1);
  });
});

describe("Redis set-up: where the server stands", () => {
  test("a replica is told as such, and a lease waits for it to become the primary", async () => {
    const settings = ["--replicaof", "127.0.0.1", String(redis.server.port)];
    await using replica = await RedisServer.start({ settings });
    using subject = over(replica.port);
    const refused = subject.leases.acquire("k", { waitMs: 0 });
    await assert.rejects(refused, leaseError("UNAVAILABLE", { reason: "read-only" }));
    const waiting = subject.leases.acquire("k", { ttlMs: LONG, waitMs: 10_000 });
    using operator = new Operator(replica.port);
    await operator.client.replicaof("NO", "ONE");
    assert.deepEqual(await (await waiting).release(), { released: true });
  });

  test("one node of a cluster, asked by a client for one server, says so at once", async () => {
    const cluster = await RedisCluster.start();
    try {
      using subject = over(cluster.nodes[0]?.port ?? 0);
      // Of these some key lies on the other node.
      const keys = Array.from({ length: 16 }, (_, index) => `key-${index}`);
      const outcomes = await Promise.allSettled(
        keys.map((key) => subject.leases.acquire(key, { ttlMs: LONG })),
      );
      const refused = outcomes.filter((outcome) => outcome.status === "rejected");
      assert.ok(refused.length > 0 && refused.length < keys.length);
      for (const { reason } of refused) leaseError("INVALID", { reason: "cluster" })(reason);
    } finally {
      await cluster.close();
    }
  });

  test("a server that is loading is waited for", async () => {
    const endpoint = await redis.endpoint();
    const error = "LOADING Redis is loading the dataset in memory";
    endpoint.faults.add({ kind: "reply-error", error }, { times: 2 });
    const refused = client(endpoint).acquire(freshKey(), { waitMs: 0 });
    await assert.rejects(refused, leaseError("UNAVAILABLE", { reason: "loading" }));
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
    assert.deepEqual(await lease.release(), { released: true });
  });
});

class Operator implements Disposable {
  readonly client: Redis;
  constructor(port: number) {
    this.client = new Redis(port);
  }
  [Symbol.dispose](): void {
    this.client.disconnect();
  }
}

describe("Redis set-up: clients", () => {
  test("a node-redis client that nobody has connected is told at once", async () => {
    const leases = new LeaseClient(
      nodeRedis(createClient({ url: `redis://127.0.0.1:${redis.server.port}` })),
    );
    await assert.rejects(leases.acquire("k"), leaseError("INVALID", { reason: "closed-client" }));
  });

  test("an ioredis client that has been closed is told at once", async () => {
    const connection = new Redis(redis.server.port);
    const leases = new LeaseClient(ioredis(connection));
    await (await leases.acquire("k")).release();
    await connection.quit();
    await assert.rejects(leases.acquire("k"), leaseError("INVALID", { reason: "closed-client" }));
  });

  test("a client of @upstash/redis lends its URL and token, and nothing is sent through it", async () => {
    const endpoint = await redis.endpoint();
    const existing = new UpstashRedis({ url: endpoint.url, token: endpoint.token });
    const leases = new LeaseClient(upstash({ redis: existing }));
    const key = freshKey();
    const lease = await leases.acquire(key, { ttlMs: LONG });
    assert.equal((await documentOf(redis.direct, key))?.fence, String(lease.fence));
    // Its client tells about itself in headers of its own.
    const told = endpoint.requests.all.map(({ headers }) => Object.keys(headers));
    assert.ok(told.flat().every((name) => !name.startsWith("upstash-telemetry")));
    await lease.release();
  });

  for (const [name, value] of [
    ["a client of another kind", new Map()],
    ["a client without a token", { client: { baseUrl: "https://u.example", headers: {} } }],
    ["nothing", null],
  ] as const) {
    test(`${name} is no client of @upstash/redis`, () => {
      const made = () => upstash({ redis: value as unknown as object });
      assert.throws(made, leaseError("INVALID", { reason: "redis" }));
    });
  }

  test("while nobody waits, no connection listens", async () => {
    using subject = over(redis.server.port);
    const key = freshKey();
    const listening = async () => {
      const clients = (await ask(redis.direct, "CLIENT", "LIST")) ?? "";
      return clients.split("\n").filter((line) => / sub=[1-9]/.test(line)).length;
    };
    const lease = await subject.leases.acquire(key, { ttlMs: LONG });
    assert.equal(await listening(), 0);
    const waiting = subject.leases.acquire(key, { ttlMs: LONG });
    while ((await listening()) !== 1);
    await lease.release();
    await (await waiting).release();
    while ((await listening()) !== 0);
    assert.ok((await stored(redis.direct)).length > 0);
  });
});

describe("Redis set-up: an event stream", () => {
  test("a line without an end is not kept, and the wait goes on by polls", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    let sent = 0;
    const endless: typeof fetch = (input, init) => {
      if (!String(input).includes("/subscribe/")) return fetch(input, init);
      const chunk = new TextEncoder().encode("x".repeat(65_536));
      const body = new ReadableStream({
        pull: (controller) => {
          sent += 1;
          controller.enqueue(chunk);
        },
      });
      return Promise.resolve(new Response(body));
    };
    const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
    const leases = client(endpoint, { endpoint: { fetch: endless } });
    const waiting = leases.acquire(key, { ttlMs: LONG });
    while (sent === 0) await new Promise((resolve) => setImmediate(resolve));
    await lease.release();
    await (await waiting).release();
    assert.ok(sent <= 4, `${sent} chunks were read`);
  });
});
