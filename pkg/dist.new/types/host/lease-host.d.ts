/**
 * The lease host as a Durable Object class, for your own Worker:
 *
 * ```ts
 * export { LeaseHost } from "leasehold/host";
 * ```
 *
 * with a binding to it and a migration that lists it under `new_sqlite_classes`.
 */
import { DurableObject } from "cloudflare:workers";
import type { WireResponse } from "../lease/backend.js";
/** What a test may set. */
export interface LeaseHostSettings {
    /** The wall clock, in milliseconds; `Date.now` unless set. */
    now?: () => number;
}
/**
 * Grants leases over keys, from one object's storage. Reached by `call` over RPC, or by `fetch`
 * with the same request as a JSON body. Every step is one transaction on the object's storage.
 */
export declare class LeaseHost<Env = unknown> extends DurableObject<Env> {
    #private;
    /** Called by the runtime, without settings. */
    constructor(ctx: DurableObjectState, env: Env, settings?: LeaseHostSettings);
    /** Carries out one request of the protocol. Whatever is wrong with it, the answer is a value. */
    call(request: unknown): Promise<WireResponse>;
    /** The same for callers without RPC: `POST` with the request as JSON. */
    fetch(request: Request): Promise<Response>;
    /** Serves waiters whose turn has come or whose time is up. */
    alarm(): Promise<void>;
}
