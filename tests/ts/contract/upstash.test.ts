import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { contract } from "./suite.ts";

for (const supportsKeyLocking of [true, false]) {
  const name = supportsKeyLocking ? "upstash" : "upstash, key locking unknown";
  contract(name, async () => {
    const server = await RedisServer.start();
    const endpoint = await RestEndpoint.start({
      redis: { port: server.port },
      supportsKeyLocking,
      strictScripts: true,
    });
    return {
      carrier: () => upstash({ url: endpoint.url, token: endpoint.token }),
      close: async () => {
        await endpoint.close();
        await server.close();
      },
    };
  });
}
