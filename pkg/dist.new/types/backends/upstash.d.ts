import type { LeaseBackend } from "../lease/backend.js";
/** Where the database is. */
export interface UpstashOptions {
    /** The database's REST URL. */
    readonly url: string;
    /** Its standard token; the read-only one cannot run scripts. */
    readonly token: string;
    /** What all names in the database begin with: 1 to 64 characters of `A-Z a-z 0-9 _ . : -`. */
    readonly prefix?: string;
    /** Carries the requests; the runtime's own by default. */
    readonly fetch?: typeof fetch;
}
/**
 * A Redis behind Upstash's REST API as a lease host: also Vercel's, and self-run endpoints that
 * speak the same protocol.
 *
 * Exclusion is best effort on a store that replicates asynchronously: a failover can lose a grant.
 * The guarantee is the fence, checked at the resource. Eviction has to be off.
 *
 * @throws LeaseError `INVALID` for a bad URL, token or prefix.
 */
export declare function upstash(options: UpstashOptions): LeaseBackend;
/**
 * The same, with URL and token from the environment: `UPSTASH_REDIS_REST_URL` and `_TOKEN`, or
 * else `KV_REST_API_URL` and `_TOKEN`. In Workers, pass the handler's `env`.
 *
 * @throws LeaseError `INVALID` when there is no pair, or half of one.
 */
export declare function upstashFromEnv(env?: Readonly<Record<string, unknown>>, options?: Omit<UpstashOptions, "url" | "token">): LeaseBackend;
