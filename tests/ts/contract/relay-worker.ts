/** Makes a carrier inside the Workers runtime callable from the tests' process. */

import type { WireRequest } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";

export { LeaseHost } from "leasehold/host";

export default {
  async fetch(request: Request, env: { readonly LEASES: LeaseNamespace }): Promise<Response> {
    const via = new URL(request.url).pathname === "/fetch" ? "fetch" : "rpc";
    const call = (await request.json()) as WireRequest;
    const host = durableObject(env.LEASES, { via });
    const options = { signal: request.signal, timeoutMs: 30_000, rebind: false };
    return Response.json(await host.call(call, options));
  },
};
