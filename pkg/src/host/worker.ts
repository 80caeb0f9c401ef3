/**
 * A Worker that is a lease host by itself: reached over HTTPS, or by a service binding.
 *
 * ```ts
 * export { default, LeaseHost } from "leasehold/worker";
 * ```
 *
 * See `docs/host.md` for its variables.
 */

import { WorkerEntrypoint } from "cloudflare:workers";
import { type LeaseNamespace, Router } from "../backends/routing.js";
import type { WireResponse } from "../lease/backend.js";
import { face } from "./face.js";
import { door, inWasm, textOf, wasm } from "./instance.js";
import { type LayoutInForce, layoutSetting } from "./layout.js";
import { LeaseHost as Host } from "./lease-host.js";
import { refused } from "./reply.js";

export type { LayoutInForce } from "./layout.js";

/** What `wrangler.toml` binds. */
export interface Env {
  /** The objects that decide. */
  readonly LEASES: LeaseNamespace;
  /** Secret: one token, or a JSON list of `{ token, prefixes, rights }`. */
  readonly LEASEHOLD_TOKENS?: string;
  /** Secret: opens the details of `/healthz`, and `/v1/layout`. */
  readonly LEASEHOLD_OPERATOR_TOKEN?: string;
  /** The origins of pages that may ask, with commas between. */
  readonly LEASEHOLD_ORIGINS?: string;
  /** Over how many objects to spread the keys: 64 unless set; `key` for an object per key. */
  readonly LEASEHOLD_SHARDS?: string | number;
  /** Where the objects have to stay, such as `eu`. */
  readonly LEASEHOLD_JURISDICTION?: string;
  /** Near where they are to be made, such as `weur`. */
  readonly LEASEHOLD_LOCATION_HINT?: string;
}

/** So that all keys can be told and an unused key costs a row instead of an object. */
const STAND_ALONE = { shards: 64 } as const;

/** The objects, over 64 of which the keys are spread. */
export class LeaseHost extends Host<Env> {
  /** Called by the runtime. */
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env, STAND_ALONE);
  }
}

const layouts = {
  objectName: (layout: string, key: string) => inWasm(() => wasm.objectName(layout, key)),
  jurisdictionOf: (layout: string) => inWasm(() => wasm.jurisdictionOf(layout)),
};

/** The Worker. */
export default class LeaseWorker extends WorkerEntrypoint<Env> {
  /** Over HTTPS: see `openapi.json`. */
  override fetch(request: Request): Promise<Response> {
    return face(request, {
      door: door(this.env),
      call: (call, key, signal) =>
        key === undefined
          ? this.#list(JSON.parse(call))
          : this.#ask(key, (object) => posted(object, call, signal)),
      layout: () => this.#register((stub, layout) => stub.layoutInForce(layout)),
      changeLayout: () => this.#register((stub) => stub.changeLayout()),
    });
  }

  /** By a service binding, which needs no token: carries out one request of the protocol. */
  call(request: unknown): Promise<WireResponse> {
    const { operation, key } = Object(request);
    return operation === "list"
      ? this.#list(request)
      : this.#ask(String(key), (object) => object.call(request));
  }

  async #ask(
    key: string,
    send: (object: LeaseHost) => Promise<WireResponse>,
  ): Promise<WireResponse> {
    return this.#route((router) => router.ask(key, send));
  }

  /** Asks all shards; the answer is one page of all that they tell. */
  async #list(list: unknown): Promise<WireResponse> {
    return this.#route((router) =>
      router.askBy(async (layout) => {
        const names = inWasm(() => wasm.shardNames(layout));
        if (names.length === 0) {
          return UNLISTED;
        }
        const pages = await Promise.all(
          names.map(async (name) => textOf(await router.stub(layout, name).call(list))),
        );
        return JSON.parse(inWasm(() => wasm.mergeLists(pages)) ?? "");
      }),
    );
  }

  async #route(ask: (router: Router<LeaseHost>) => Promise<WireResponse>): Promise<WireResponse> {
    const { LEASES, LEASEHOLD_LOCATION_HINT: hint } = this.env;
    const setting = layoutSetting(this.env, STAND_ALONE);
    return setting.refused ?? ask(new Router(LEASES, layouts, setting.layout, hint));
  }

  async #register(
    ask: (stub: LeaseHost, layout: string) => Promise<LayoutInForce | WireResponse>,
  ): Promise<LayoutInForce | WireResponse> {
    const { LEASES } = this.env;
    const setting = layoutSetting(this.env, STAND_ALONE);
    return setting.refused ?? ask(LEASES.get(LEASES.idFromName("layout")), setting.layout);
  }
}

/** By `fetch`, since by RPC the object would not hear of an asker that leaves. */
async function posted(object: LeaseHost, body: string, signal: AbortSignal): Promise<WireResponse> {
  // The signal of a request, passed on as it is, does not end the one that it is passed to.
  const left = new AbortController();
  signal.addEventListener("abort", () => left.abort(signal.reason));
  const asked = { method: "POST", body, signal: left.signal };
  // A stub's `fetch` takes what the global one does.
  const { fetch } = object as unknown as { fetch: typeof globalThis.fetch };
  const response = await fetch.call(object, "https://object/", asked);
  return response.json();
}

const UNLISTED = refused(
  "INVALID",
  "list",
  "With an object for each key the host cannot enumerate them: spread them over shards.",
);
