/** Bindings that lead elsewhere than to lease hosts, or are passed as what they are not. */

import { DurableObject } from "cloudflare:workers";
import { type LeaseBackend, LeaseClient, type LeaseError } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { http } from "leasehold/http";

export { LeaseHost } from "leasehold/host";

/** Not an object that can be called by RPC. */
export class Plain {
  fetch(): Response {
    return new Response("<p>hello</p>", { headers: { "content-type": "text/html" } });
  }
}

/** An object, but no lease host. */
export class Other extends DurableObject {
  other(): string {
    return "hello";
  }
}

interface Env {
  readonly LEASES: LeaseNamespace;
  readonly PLAIN: LeaseNamespace;
  readonly OTHER: LeaseNamespace;
  readonly SERVICE: { fetch: typeof fetch };
}

const url = "https://leases.example.com";
const token = "token";

/** What somebody may have written. */
const backends: Record<string, (env: Env, ctx: ExecutionContext) => unknown> = {
  right: (env) => durableObject(env.LEASES),
  "by fetch": (env) => durableObject(env.LEASES, { via: "fetch" }),
  "the namespace": (env) => env.LEASES,
  "the env": (env) => env,
  "a stub": (env) => env.LEASES.get(env.LEASES.idFromName("k")),
  "a service": (env) => env.SERVICE,
  "the env for a namespace": (env) => durableObject(env as never),
  "a stub for a namespace": (env) =>
    durableObject(env.LEASES.get(env.LEASES.idFromName("k")) as never),
  "a service for a namespace": (env) => durableObject(env.SERVICE as never),
  "no RPC": (env) => durableObject(env.PLAIN),
  "no RPC, by fetch": (env) => durableObject(env.PLAIN, { via: "fetch" }),
  "another class": (env) => durableObject(env.OTHER),
  "another class, by fetch": (env) => durableObject(env.OTHER, { via: "fetch" }),
  "a service's fetch": (env) => http({ url, token, fetch: env.SERVICE.fetch }),
};

export default {
  async fetch(request: Request, env: Env, ctx: ExecutionContext): Promise<Response> {
    const name = new URL(request.url).searchParams.get("backend") ?? "";
    const begun = Date.now();
    try {
      const leases = new LeaseClient(backends[name]?.(env, ctx) as LeaseBackend);
      const lease = await leases.acquire("k", { waitMs: 5_000 });
      await lease.release();
      return Response.json({ granted: true });
    } catch (error) {
      const { code, reason, message } = error as LeaseError;
      return Response.json({ code, reason, message, ms: Date.now() - begun });
    }
  },
};
