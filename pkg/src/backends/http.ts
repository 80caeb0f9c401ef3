import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { callback, flag, optionsOf, required, type Table } from "../lease/check.js";
import { failureOf } from "../lease/failure.js";
import { baseUrl, bearer, TOKEN, URL_TEXT } from "./endpoint.js";
import { pairFrom } from "./environment.js";
import { type Fetch, post } from "./post.js";

/** How to reach a deployed lease host. */
export interface HttpOptions {
  /** Where it is, such as `https://leases.example.com`. */
  readonly url: string | URL;
  /** The bearer token that the host knows. Secret. */
  readonly token: string;
  /** What to send requests with; the runtime's `fetch` by default. */
  readonly fetch?: Fetch;
  /** Whether the token may go to another machine in clear, by `http:`. */
  readonly insecure?: boolean;
}

const OPTIONS: Table<HttpOptions> = {
  url: required(URL_TEXT),
  token: required(TOKEN),
  fetch: callback,
  insecure: flag,
};

/**
 * A lease host that was deployed by itself, reached over HTTPS.
 *
 * @throws LeaseError `INVALID` for a bad URL, token or option.
 */
export function http(options: HttpOptions): LeaseBackend {
  const { url, token, fetch = globalThis.fetch, insecure } = optionsOf(OPTIONS, options);
  return new Http(baseUrl(url, insecure), bearer(token), fetch);
}

/**
 * The same, with URL and token from the environment: `LEASEHOLD_URL` and `LEASEHOLD_TOKEN`. In
 * Workers, pass the handler's `env`.
 *
 * @throws LeaseError `INVALID`, naming the variable that is missing or bad.
 */
export function httpFromEnv(
  env?: Readonly<Record<string, unknown>>,
  options?: Omit<HttpOptions, "url" | "token">,
): LeaseBackend {
  const { url: _url, token: _token, ...table } = OPTIONS;
  const rest = optionsOf<Omit<HttpOptions, "url" | "token">>(table, options);
  return http({ ...rest, ...pairFrom(env, ["LEASEHOLD_URL", "LEASEHOLD_TOKEN"]) });
}

class Http implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the host",
    list: true,
  };
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;

  constructor(base: string, headers: Readonly<Record<string, string>>, fetch: Fetch) {
    this.#base = base;
    this.#headers = headers;
    this.#fetch = fetch;
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const fetch = this.#fetch;
    try {
      // Called without a receiver: the runtime's own refuses any other than the global object.
      return await post(
        (url, init) => fetch(url, init),
        `${this.#base}/v1/${request.operation}`,
        this.#headers,
        request,
        options,
      );
    } catch (error) {
      throw failureOf(error, "The lease host", "fetch");
    }
  }
}
