import { invalid } from "./errors.js";
import { type Fetch, post } from "./post.js";
import type { CallOptions, Capabilities, LeaseHost, WireRequest, WireResponse } from "./wire.js";

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
export function http(options: HttpOptions): LeaseHost {
  const { url, token, fetch = globalThis.fetch } = options ?? {};
  const base = URL.canParse(url) ? new URL(url) : undefined;
  if (base?.protocol !== "https:" && base?.protocol !== "http:") {
    throw invalid("url", "must be an https: or http: URL");
  }
  if (typeof token !== "string" || token === "") {
    throw invalid("token", "must be a string that is not empty");
  }
  return new Http(base, token, fetch);
}

class Http implements LeaseHost {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the host",
  };
  readonly #base: string;
  readonly #token: string;
  readonly #fetch: Fetch;

  constructor(base: URL, token: string, fetch: Fetch) {
    this.#base = base.href.replace(/\/*$/, "");
    this.#token = token;
    this.#fetch = fetch;
  }

  call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const fetch = this.#fetch;
    const headers = { authorization: `Bearer ${this.#token}` };
    // Called without a receiver: the runtime's own refuses any other than the global object.
    return post(
      (url, init) => fetch(url, init),
      `${this.#base}/v1/${request.operation}`,
      headers,
      request,
      options,
    );
  }
}
