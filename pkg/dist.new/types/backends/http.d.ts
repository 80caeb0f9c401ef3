import type { LeaseBackend } from "../lease/backend.js";
import { type Fetch } from "./post.js";
/** How to reach a deployed lease host. */
export interface HttpOptions {
    /** Where it is, such as `https://leases.example.com`. */
    readonly url: string | URL;
    /** The bearer token that the host knows. Secret. */
    readonly token: string;
    /** What to send requests with; the runtime's `fetch` by default. */
    readonly fetch?: Fetch;
}
/**
 * A lease host that was deployed by itself, reached over HTTPS.
 *
 * @throws LeaseError `INVALID` if there is no URL or no token.
 */
export declare function http(options: HttpOptions): LeaseBackend;
