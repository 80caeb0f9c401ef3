/** A Worker that is a lease host by itself: reached over HTTPS, or by a service binding. */

import { WorkerEntrypoint } from "cloudflare:workers";
import type { WireResponse } from "../lease/backend.js";
import { face } from "./face.js";
import { refusal } from "./instance.js";
import type { LeaseHost } from "./lease-host.js";
import { refused } from "./reply.js";
import { objectName } from "./shard.js";

export { LeaseHost } from "./lease-host.js";

/** What `wrangler.toml` binds. */
export interface Env {
  /** The objects that decide. */
  readonly LEASES: DurableObjectNamespace<LeaseHost>;
  /** Secret: one token, or a JSON list of `{ token, prefixes }`. */
  readonly LEASEHOLD_TOKENS?: string;
  /** Over how many objects to spread the keys, instead of one for each. Never to be changed. */
  readonly LEASEHOLD_SHARDS?: string | number;
}

/** The Worker. */
export default class LeaseWorker extends WorkerEntrypoint<Env> {
  /** Over HTTPS: see `openapi.json`. */
  override fetch(request: Request): Promise<Response> {
    return face(request, {
      tokens: this.env.LEASEHOLD_TOKENS,
      refusal,
      call: (request) => this.#forward(request),
    });
  }

  /** By a service binding, which needs no token: carries out one request of the protocol. */
  async call(request: { key: string }): Promise<WireResponse> {
    return refusal(request) ?? this.#forward(request);
  }

  async #forward(request: Record<string, unknown>): Promise<WireResponse> {
    const shards = this.env.LEASEHOLD_SHARDS;
    if (shards !== undefined && !(Number(shards) >= 1 && Number.isInteger(Number(shards)))) {
      const message = "The variable LEASEHOLD_SHARDS must be a whole number above zero.";
      return refused("UNAVAILABLE", "not-configured", message);
    }
    const name = objectName(String(request.key), shards === undefined ? undefined : Number(shards));
    return this.env.LEASES.getByName(name).call(request);
  }
}
