/** A Worker that is a lease host by itself: reached over HTTPS, or by a service binding. */
import { WorkerEntrypoint } from "cloudflare:workers";
import type { WireResponse } from "../lease/backend.js";
import type { LeaseHost } from "./lease-host.js";
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
    #private;
    /** Over HTTPS: see `openapi.json`. */
    fetch(request: Request): Promise<Response>;
    /** By a service binding, which needs no token: carries out one request of the protocol. */
    call(request: {
        key: string;
    }): Promise<WireResponse>;
}
