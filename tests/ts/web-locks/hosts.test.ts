import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";
import { LockManager } from "leasehold/web-locks";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";
import { suite } from "./suite.ts";

const TOKEN = "a-token-for-the-lock-managers";

/** Renewed, and so found broken, several times a second. */
const ttlMs = 1_000;

suite("memory", async () => {
  const host = memory();
  const manager = () => new LockManager(new LeaseClient(host), { ttlMs });
  return { one: manager(), other: manager() };
});

suite("Redis over REST", async () => {
  const server = await RedisServer.start();
  const { port } = server;
  const endpoint = await RestEndpoint.start({ redis: { port }, supportsKeyLocking: true });
  const { url, token } = endpoint;
  const manager = () => new LockManager(new LeaseClient(upstash({ url, token })), { ttlMs });
  return {
    one: manager(),
    other: manager(),
    close: async () => {
      await endpoint.close();
      await server.close();
    },
  };
});

suite("Durable Object over HTTPS", async () => {
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN },
  });
  const url = await workers.url();
  const manager = () => new LockManager(new LeaseClient(http({ url, token: TOKEN })), { ttlMs });
  return { one: manager(), other: manager(), close: () => workers.stop() };
});
