import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { baseUrl, bearer } from "./endpoint.js";
import { type Fetch, post } from "./post.js";

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
export function http(options: HttpOptions): LeaseBackend {
  const { url, token, fetch = globalThis.fetch } = options ?? {};
  return new Http(baseUrl(url), bearer(token), fetch);
}

class Http implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the host",
  };
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;

  constructor(base: string, headers: Readonly<Record<string, string>>, fetch: Fetch) {
    this.#base = base;
    this.#headers = headers;
    this.#fetch = fetch;
  }

  call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const fetch = this.#fetch;
    // Called without a receiver: the runtime's own refuses any other than the global object.
    return post(
      (url, init) => fetch(url, init),
      `${this.#base}/v1/${request.operation}`,
      this.#headers,
      request,
      options,
    );
  }
}
