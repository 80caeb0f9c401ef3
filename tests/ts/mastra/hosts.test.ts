import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";
import { contract } from "./contract.ts";

const TOKEN = "a-token-for-the-lease-providers";

contract("memory", async () => {
  const host = memory();
  return { carrier: () => host };
});

contract("Redis over REST", async () => {
  const server = await RedisServer.start();
  const { port } = server;
  const endpoint = await RestEndpoint.start({ redis: { port }, supportsKeyLocking: true });
  return {
    carrier: () => upstash({ url: endpoint.url, token: endpoint.token }),
    close: async () => {
      await endpoint.close();
      await server.close();
    },
  };
});

contract("Durable Object over HTTPS", async () => {
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN },
  });
  const url = await workers.url();
  return { carrier: () => http({ url, token: TOKEN }), close: () => workers.stop() };
});
