/** Runs cycles inside the Workers runtime, client and object in one isolate, and tells their memory. */

import "../support/started-wasm.ts";
import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { wasmOf } from "../support/started-wasm.ts";

export { TestHost } from "../workerd/test-worker.ts";

const wasmBytes = (name: "Holder" | "LeaseObject") => wasmOf(name).memory.buffer.byteLength;

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
    return Response.json({ held, client: wasmBytes("Holder"), host: wasmBytes("LeaseObject") });
  },
};
