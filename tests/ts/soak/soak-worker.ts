/** Runs cycles inside the Workers runtime, client and object in one isolate, and tells their memory. */

import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { initSync as client } from "../../../pkg/wasm/client/client.js";
import { initSync as host } from "../../../pkg/wasm/host/host.js";

export { TestHost } from "../workerd/test-worker.ts";

type Init = (module: { module: never }) => { readonly memory: { readonly buffer: ArrayBuffer } };
const pages = (init: Init) => init({ module: undefined as never }).memory.buffer.byteLength;

export default {
  async fetch(request: Request, env: { readonly LEASES: LeaseNamespace }): Promise<Response> {
    const cycles = Number(new URL(request.url).searchParams.get("cycles"));
    const leases = new LeaseClient(durableObject(env.LEASES));
    for (let index = 0; index < cycles; index += 1) {
      const lease = await leases.acquire("soak", { ttlMs: 5_000 });
      await lease.renew();
      const { released } = await lease.release();
      if (!released) throw new Error("a release failed");
    }
    const held = leases.heldLeases.length;
    return Response.json({ held, client: pages(client), host: pages(host) });
  },
};
