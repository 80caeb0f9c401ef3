/** Lease hosts as people run them, for tests that are the same on each. */

import type { LeaseBackend } from "leasehold";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";

/** A host that runs until it is closed. */
export interface Host {
  /** A carrier to the host. Each call gives one that shares nothing with the others. */
  carrier(): LeaseBackend;
  close(): Promise<void>;
}

/** A host in processes of its own, at an address. */
export interface RemoteHost extends Host {
  readonly url: string;
  readonly token: string;
}

/** In this process: its carriers are one. */
export async function memoryHost(): Promise<Host> {
  const host = memory();
  return { carrier: () => host, close: async () => {} };
}

/** A redis-server, behind an endpoint that speaks as Upstash does. */
export async function redisHost(): Promise<RemoteHost> {
  const server = await RedisServer.start();
  const { port } = server;
  const endpoint = await RestEndpoint.start({ redis: { port }, supportsKeyLocking: true });
  const { url, token } = endpoint;
  return {
    ...{ url, token },
    carrier: () => upstash({ url, token }),
    close: async () => {
      await endpoint.close();
      await server.close();
    },
  };
}

/** The stand-alone Worker, in workerd. */
export async function durableObjectHost(): Promise<RemoteHost> {
  const token = "a-token-for-whoever-tests";
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    // Few objects, since a list goes through all of them.
    vars: { LEASEHOLD_TOKENS: token, LEASEHOLD_SHARDS: "4" },
    flags: ["enable_request_signal"],
  });
  const url = String(await workers.url());
  return {
    ...{ url, token },
    carrier: () => http({ url, token }),
    close: () => workers.stop(),
  };
}

/** Every host, by the name that its tests show. */
export const HOSTS: Readonly<Record<string, () => Promise<Host>>> = {
  memory: memoryHost,
  "Redis over REST": redisHost,
  "Durable Object over HTTPS": durableObjectHost,
};
