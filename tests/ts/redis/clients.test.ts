import { Cluster, Redis } from "ioredis";
import { ioredis } from "leasehold/ioredis";
import { nodeRedis } from "leasehold/node-redis";
import { createClient, createCluster } from "redis";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { contract } from "../contract/suite.ts";
import { RedisCluster } from "./cluster.ts";

contract("ioredis", async () => {
  const server = await RedisServer.start();
  const client = new Redis(server.port);
  return {
    carrier: () => ioredis(client),
    close: async () => {
      client.disconnect();
      await server.close();
    },
  };
});

contract("ioredis, a cluster", async () => {
  const servers = await RedisCluster.start();
  const client = new Cluster([...servers.nodes]);
  return {
    carrier: () => ioredis(client),
    close: async () => {
      client.disconnect();
      await servers.close();
    },
  };
});

contract("node-redis", async () => {
  const server = await RedisServer.start();
  const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
  client.on("error", () => {});
  await client.connect();
  return {
    carrier: () => nodeRedis(client),
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
});

contract("node-redis, a cluster", async () => {
  const servers = await RedisCluster.start();
  const rootNodes = servers.nodes.map(({ host, port }) => ({ url: `redis://${host}:${port}` }));
  const client = createCluster({ rootNodes });
  client.on("error", () => {});
  await client.connect();
  return {
    carrier: () => nodeRedis(client),
    close: async () => {
      client.destroy();
      await servers.close();
    },
  };
});
