/** Somebody's Worker that uses a lease host deployed elsewhere, in the way that the path names. */

import type { LeaseBackend, WireRequest } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { type LeaseService, service } from "leasehold/service";

interface Env {
  readonly HOST: LeaseService;
  readonly LEASES: LeaseNamespace;
}

const ways: Record<string, (env: Env) => LeaseBackend> = {
  service: (env) => service(env.HOST),
  script: (env) => durableObject(env.LEASES),
  fetch: (env) => durableObject(env.LEASES, { via: "fetch", locationHint: "weur" }),
};

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const asked = (await request.json()) as WireRequest;
    const [way = "", ...name] = new URL(request.url).pathname.slice(1).split("/");
    const backend = ways[way]?.(env);
    if (backend === undefined) {
      // One object by its name, whatever the layout.
      const id = env.LEASES.idFromName(name.map(decodeURIComponent).join("/"));
      return Response.json(await env.LEASES.get(id).call(asked));
    }
    const options = { signal: request.signal, timeoutMs: 30_000, rebind: false };
    return Response.json(await backend.call(asked, options));
  },
};
