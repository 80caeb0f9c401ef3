import { Redis } from "ioredis";
import { createClient } from "redis";
import { ioredisHost, SEND_ONCE } from "../../../examples/ioredis/host.ts";
import { nodeRedisHost } from "../../../examples/node-redis/host.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { contract } from "../contract/suite.ts";

contract("ioredis", async () => {
  const server = await RedisServer.start();
  const client = new Redis(server.port, SEND_ONCE);
  const hosts: AsyncDisposable[] = [];
  return {
    carrier: () => {
      const host = ioredisHost(client);
      hosts.push(host);
      return host;
    },
    close: async () => {
      for (const host of hosts) await host[Symbol.asyncDispose]();
      client.disconnect();
      await server.close();
    },
  };
});

contract("node-redis", async () => {
  const server = await RedisServer.start();
  const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
  client.on("error", () => {});
  await client.connect();
  const host = await nodeRedisHost(client);
  return {
    carrier: () => host,
    close: async () => {
      await host[Symbol.asyncDispose]();
      client.destroy();
      await server.close();
    },
  };
});
