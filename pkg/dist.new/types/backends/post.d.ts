import type { CallOptions, WireRequest, WireResponse } from "../lease/backend.js";
/** What this package needs of `fetch`, be it the runtime's or a Durable Object stub's. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;
/**
 * Posts a request and reads the answer. A readable answer counts whatever the status; anything
 * else is no answer, and what the host did is unknown: `fetch` doesn't tell whether a request that
 * failed had been sent.
 */
export declare function post(fetch: Fetch, url: string, headers: Readonly<Record<string, string>>, request: WireRequest, { signal }: CallOptions): Promise<WireResponse>;
