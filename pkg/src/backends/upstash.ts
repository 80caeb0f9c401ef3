import type { LeaseBackend } from "../lease/backend.js";
import { BackendError, invalid } from "../lease/errors.js";
import { baseUrl, bearer, retryAfter } from "./endpoint.js";
import { messages } from "./event-stream.js";
import { type RedisConnection, redis } from "./redis.js";

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
export function upstash(options: UpstashOptions): LeaseBackend {
  const connection = new RestConnection(options);
  return redis({
    send: (command, signal) => connection.send(command, signal),
    listen: (channel, onMessage, signal) => connection.listen(channel, onMessage, signal),
    ...(options.prefix === undefined ? {} : { prefix: options.prefix }),
  });
}

/** The families of variables that hold a URL and its token. They are never mixed. */
const FAMILIES = [
  ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
  ["KV_REST_API_URL", "KV_REST_API_TOKEN"],
] as const;

/**
 * The same, with URL and token from the environment: `UPSTASH_REDIS_REST_URL` and `_TOKEN`, or
 * else `KV_REST_API_URL` and `_TOKEN`. In Workers, pass the handler's `env`.
 *
 * @throws LeaseError `INVALID` when there is no pair, or half of one.
 */
export function upstashFromEnv(
  env: Readonly<Record<string, unknown>> = globalThis.process?.env ?? {},
  options: Omit<UpstashOptions, "url" | "token"> = {},
): LeaseBackend {
  for (const [urlName, tokenName] of FAMILIES) {
    const url = env[urlName];
    const token = env[tokenName];
    if (typeof url === "string" && typeof token === "string") {
      return upstash({ ...options, url, token });
    }
    if (url !== undefined || token !== undefined) {
      throw invalid(urlName, `and ${tokenName} must both be set`);
    }
  }
  throw invalid("env", "must have UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN");
}

/** What an endpoint without streams may answer. */
const NO_STREAMS = new Set([400, 404, 405, 501]);

class RestConnection implements RedisConnection {
  readonly #url: string;
  readonly #fetch: typeof fetch;
  readonly #init: RequestInit;
  /** Whether the endpoint has streams, as far as has been found out. */
  #streams = true;

  constructor({ url, token, fetch: custom }: UpstashOptions) {
    this.#url = baseUrl(url);
    this.#fetch = custom ?? ((input, init) => fetch(input, init));
    this.#init = {
      headers: bearer(token),
      // A redirect could take the lease's credential to another place.
      redirect: "manual",
    };
  }

  async send(command: string[], signal: AbortSignal): Promise<unknown> {
    const response = await this.#fetch(this.#url, {
      ...this.#init,
      ...uncached(),
      method: "POST",
      body: JSON.stringify(command),
      signal,
    });
    const reply: unknown = await response.json().catch(() => undefined);
    if (hasText(reply, "error") && /^[A-Z]{2,} /.test(reply.error)) throw new Error(reply.error);
    if (response.ok && typeof reply === "object" && reply !== null && "result" in reply) {
      return reply.result;
    }
    if (response.status === 401 || response.status === 403) {
      throw new Error("WRONGPASS the endpoint refuses the token");
    }
    throw new BackendError(`The endpoint answered ${response.status} and no reply.`, {
      delivery: "unknown",
      retryAfterMs: retryAfter(response),
    });
  }

  async listen(channel: string, onMessage: () => void, signal: AbortSignal): Promise<void> {
    if (!this.#streams) return;
    const response = await this.#fetch(`${this.#url}/subscribe/${channel}`, {
      ...this.#init,
      ...uncached(),
      headers: { ...this.#init.headers, accept: "text/event-stream" },
      method: "POST",
      signal,
    });
    if (!response.ok || response.body === null) {
      this.#streams = !NO_STREAMS.has(response.status);
      await response.body?.cancel();
      return;
    }
    for await (const data of messages(response.body)) {
      if (data.startsWith("message,")) onMessage();
    }
  }
}

let noStore: RequestInit | undefined;

/**
 * `no-store`, where the runtime knows the field: some keep answers to a POST as well. Found out at
 * the first request, since this loads Node's fetch, and only once.
 */
function uncached(): RequestInit {
  if (noStore === undefined) {
    try {
      new Request("http://localhost", { cache: "no-store" });
      noStore = { cache: "no-store" };
    } catch {
      noStore = {};
    }
  }
  return noStore;
}

function hasText<Name extends string>(value: unknown, name: Name): value is Record<Name, string> {
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)[name] === "string"
  );
}
