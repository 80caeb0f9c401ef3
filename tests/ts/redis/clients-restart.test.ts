import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Redis } from "ioredis";
import { type LeaseBackend, LeaseClient } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { nodeRedis } from "leasehold/node-redis";
import { createClient } from "redis";
import { eventually } from "../../rest-endpoint/harness.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { leaseError } from "../support/bench.ts";
import { freshKey, LONG } from "./subject.ts";

interface Opened {
  readonly host: LeaseBackend;
  close(): Promise<void>;
}

const CLIENTS: Record<string, (port: number) => Promise<Opened>> = {
  ioredis: async (port) => {
    const client = new Redis(port);
    client.on("error", () => {});
    return { host: ioredis(client), close: async () => client.disconnect() };
  },
  "node-redis": async (port) => {
    const client = createClient({ url: `redis://127.0.0.1:${port}` });
    client.on("error", () => {});
    await client.connect();
    return { host: nodeRedis(client), close: async () => client.destroy() };
  },
};

for (const [name, open] of Object.entries(CLIENTS)) {
  describe(`Redis clients: ${name} and a server that is killed and restarted`, () => {
    const closing: (() => Promise<void>)[] = [];
    after(async () => {
      for (const close of closing.reverse()) await close();
    });

    test("a lease is kept, a waiter served, and the connection is used again", async () => {
      const server = await RedisServer.start({ appendOnly: true });
      closing.push(() => server.close());
      const { host, close } = await open(server.port);
      closing.push(close);
      const leases = new LeaseClient(host);
      const key = freshKey();
      const lease = await leases.acquire(key, { ttlMs: LONG });
      const waiting = leases.acquire(key, { ttlMs: LONG, waitMs: 20_000 });
      await eventually("it waits", async () => (await leases.inspect(key))?.waiters === 1);
      await server.kill();
      await assert.rejects(lease.renew(), leaseError("UNAVAILABLE"));
      assert.ok(lease.held);
      await server.restart();
      await eventually("the lease can be renewed again", () =>
        lease.renew().then(
          () => true,
          () => false,
        ),
      );
      assert.deepEqual(await lease.release(), { released: true });
      const next = await waiting;
      assert.ok(next.fence > lease.fence);
      assert.deepEqual(await next.release(), { released: true });
    });
  });
}
