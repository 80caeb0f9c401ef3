import type { LeaseBackend } from "../lease/backend.js";
/** What this package needs of a Durable Object namespace binding. */
export interface LeaseNamespace {
    idFromName(name: string): any;
    get(id: any): any;
}
/** How to use a namespace of `LeaseHost` objects. */
export interface DurableObjectOptions {
    /** Names the object that decides over a key. The key itself by default: one object per key. */
    readonly shard?: (key: string) => string;
    /** `rpc` calls the object's method; `fetch` posts to it, where RPC is not to be had. */
    readonly via?: "rpc" | "fetch";
}
/**
 * Lease hosts that are Durable Objects, reached by a binding to their namespace.
 *
 * @param namespace - Such as `env.LEASES`, bound to the class `LeaseHost` of `leasehold/host`.
 */
export declare function durableObject(namespace: LeaseNamespace, options?: DurableObjectOptions): LeaseBackend;
