import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { type Check, callback, flag, optionsOf, required, type Table } from "../lease/check.js";
import { failureOf } from "../lease/failure.js";
import { baseUrl, bearer, TOKEN, URL_TEXT } from "./endpoint.js";
import { pairFrom } from "./environment.js";
import { type Fetch, post } from "./post.js";

/** How to reach a deployed lease host. */
export interface HttpOptions {
  /**
   * Where it is, such as `https://leases.example.com`. Of several ways to the same host the next one is
   * taken when one gives no answer, and from `renewal.t2` on while one is still awaited.
   */
  readonly url: string | URL | readonly (string | URL)[];
  /** The bearer token that the host knows. Secret. */
  readonly token: string;
  /** What to send requests with; the runtime's `fetch` by default. */
  readonly fetch?: Fetch;
  /** Whether the token may go to another machine in clear, by `http:`. */
  readonly insecure?: boolean;
}

const URLS: Check = {
  ...URL_TEXT,
  must: `${URL_TEXT.must}, or a list of such`,
  is: (value) => listOf(value).length > 0 && listOf(value).every(URL_TEXT.is),
};

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

const OPTIONS: Table<HttpOptions> = {
  url: required(URLS),
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
  const bases = listOf(url).map((url) => baseUrl(url, insecure));
  return new Http(bases, bearer(token), fetch);
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
  readonly #bases: readonly string[];
  readonly #headers: Readonly<Record<string, string>>;
  readonly #fetch: Fetch;
  /** Which way is taken, and how many requests have gone there since its last answer. */
  #way = { index: 0, unanswered: 0 };

  constructor(bases: readonly string[], headers: Readonly<Record<string, string>>, fetch: Fetch) {
    this.#bases = bases;
    this.#headers = headers;
    // Called without a receiver: the runtime's own refuses any other than the global object.
    this.#fetch = (url, init) => fetch(url, init);
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    if (options.rebind && this.#way.unanswered > 0) {
      this.#leave(this.#way);
    }
    const way = this.#way;
    way.unanswered += 1;
    try {
      const url = `${this.#bases[way.index]}/v1/${request.operation}`;
      const answer = await post(this.#fetch, url, this.#headers, request, options);
      way.unanswered = 0;
      return answer;
    } catch (error) {
      this.#leave(way);
      throw failureOf(error, "The lease host", "fetch");
    }
  }

  /** Takes the next way, unless another than this one is taken already. */
  #leave(way: { readonly index: number }): void {
    if (way === this.#way) {
      this.#way = { index: (way.index + 1) % this.#bases.length, unanswered: 0 };
    }
  }
}
