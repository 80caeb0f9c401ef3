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
import type { WireRequest, WireResponse } from "../lease/backend.js";
import { face } from "./face.js";
import { door, guarded, readRequest, wasm } from "./instance.js";
import { type LayoutInForce, layoutSetting } from "./layout.js";
import { LeaseHost as Host } from "./lease-host.js";

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
  objectName: (layout: string, key: string) => guarded(() => wasm.objectName(layout, key)),
  jurisdictionOf: (layout: string) => guarded(() => wasm.jurisdictionOf(layout)),
};

/** The Worker. */
export default class LeaseWorker extends WorkerEntrypoint<Env> {
  /** Over HTTPS: see `openapi.json`. */
  override fetch(request: Request): Promise<Response> {
    return face(request, {
      door: door(this.env),
      call: (request) => this.#forward(request),
      layout: () => this.#register((stub, layout) => stub.layoutInForce(layout)),
      changeLayout: () => this.#register((stub) => stub.changeLayout()),
    });
  }

  /** By a service binding, which needs no token: carries out one request of the protocol. */
  async call(request: unknown): Promise<WireResponse> {
    const read = readRequest(request);
    return read.request === undefined ? read.refused : this.#forward(read.request);
  }

  async #forward(request: WireRequest): Promise<WireResponse> {
    const { LEASES, LEASEHOLD_LOCATION_HINT: hint } = this.env;
    const setting = layoutSetting(this.env, STAND_ALONE);
    if (setting.refused !== undefined) {
      return setting.refused;
    }
    const router = new Router<LeaseHost>(LEASES, layouts, setting.layout, hint);
    return router.ask(request.key, (stub) => stub.call(request));
  }

  async #register(
    ask: (stub: LeaseHost, layout: string) => Promise<LayoutInForce | WireResponse>,
  ): Promise<LayoutInForce | WireResponse> {
    const { LEASES } = this.env;
    const setting = layoutSetting(this.env, STAND_ALONE);
    return setting.refused ?? ask(LEASES.get(LEASES.idFromName("layout")), setting.layout);
  }
}
