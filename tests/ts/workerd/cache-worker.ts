/** A value read by a Worker's requests and by an object, which keeps it from request to request. */

import { DurableObject } from "cloudflare:workers";
import { LeaseClient } from "leasehold";
import { type Cached, cached } from "leasehold/cache";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";

export { LeaseHost } from "leasehold/host";

interface Env {
  readonly LEASES: LeaseNamespace;
  readonly STORE: DurableObjectNamespace<Store>;
  readonly READERS: DurableObjectNamespace<Reader>;
}

/** Where the value is: counts how often it is loaded. */
export class Store extends DurableObject {
  #value = 0;
  #loads = 0;

  load(): number {
    this.#loads += 1;
    return this.#value;
  }

  set(value: number): void {
    this.#value = value;
  }

  loads(): number {
    return this.#loads;
  }
}

const KEY = "prices";

function prices(env: Env, options: { readonly inDurableObject?: boolean }): Cached<number> {
  const store = env.STORE.getByName("one");
  const leases = new LeaseClient(durableObject(env.LEASES));
  return cached(leases, KEY, async () => await store.load(), { ttlMs: 3_000, ...options });
}

export class Reader extends DurableObject<Env> {
  readonly #prices = prices(this.env, { inDurableObject: true });

  get(): Promise<number> {
    return this.#prices.get();
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const store = env.STORE.getByName("one");
    const here = prices(env, {});
    switch (pathname) {
      case "/worker":
        return Response.json({ keeps: here.keeps, value: await here.get() });
      case "/object":
        return Response.json({ value: await env.READERS.getByName("one").get() });
      case "/loads":
        return Response.json({ loads: await store.loads() });
      default:
        await here.write(() => store.set(Number(searchParams.get("value"))));
        return Response.json({ written: true });
    }
  },
};
