import type { LeaseBackend } from "../lease/backend.js";
import {
  type Check,
  callback,
  flag,
  optionsOf,
  peek,
  required,
  type Table,
} from "../lease/check.js";
import { failureOf } from "../lease/failure.js";
import { baseUrl, bearer, bodyOf, foreignAnswer, TOKEN, URL_TEXT } from "./endpoint.js";
import { pairFrom } from "./environment.js";
import { messages } from "./event-stream.js";
import { PREFIX, type RedisConnection, redis } from "./redis.js";

/** What can be said of a database wherever it is. */
export interface UpstashSettings {
  /** What all names in the database begin with: 1 to 64 characters of `A-Z a-z 0-9 _ . : -`. */
  readonly prefix?: string;
  /** Carries the requests; the runtime's own by default. */
  readonly fetch?: typeof fetch;
  /** Whether the token may go to another machine in clear, by `http:`. */
  readonly insecure?: boolean;
}

/** Where the database is: a URL and its token, or a client that knows them. */
export type UpstashOptions = UpstashSettings &
  (
    | {
        /** The database's REST URL. */
        readonly url: string | URL;
        /** Its standard token; the read-only one cannot run scripts. Secret. */
        readonly token: string;
        readonly redis?: undefined;
      }
    | {
        /** A client of `@upstash/redis`, whose URL and token are taken: nothing is sent through it. */
        readonly redis: object;
        readonly url?: undefined;
        readonly token?: undefined;
      }
  );

const CLIENT: Check = {
  must: "a client of @upstash/redis that was made with a URL and a token",
  is: (value) => {
    const { url, token } = credentialsOf(value as object);
    return URL_TEXT.is(url) && TOKEN.is(token);
  },
};

const SETTINGS: Table<UpstashSettings> = { prefix: PREFIX, fetch: callback, insecure: flag };
const OPTIONS: Table<UpstashSettings & { url: string; token: string }> = {
  url: required(URL_TEXT),
  token: required(TOKEN),
  ...SETTINGS,
};
const OF_CLIENT: Table<UpstashSettings & { redis: object }> = {
  redis: required(CLIENT),
  ...SETTINGS,
};

/**
 * A Redis behind Upstash's REST API as a lease host: also Vercel's, and self-run endpoints that
 * speak the same protocol.
 *
 * Exclusion is best effort on a store that replicates asynchronously: a failover can lose a grant.
 * The guarantee is the fence, checked at the resource. Eviction has to be off.
 *
 * @throws LeaseError `INVALID` for a bad URL, token or option.
 */
export function upstash(options: UpstashOptions): LeaseBackend {
  const { url, token, prefix, fetch, insecure } = located(options);
  const connection = new RestConnection(baseUrl(url, insecure), bearer(token), fetch);
  return redis({
    send: (command, signal) => connection.send(command, signal),
    listen: (channel, onMessage, signal) => connection.listen(channel, onMessage, signal),
    ...(prefix === undefined ? {} : { prefix }),
    // Whether the database evicts is set at its provider's, and asking would be billed.
    allowEviction: true,
  });
}

function located(options: UpstashOptions): UpstashSettings & { url: string; token: string } {
  if (peek(options, "redis") === undefined) {
    return optionsOf(OPTIONS, options);
  }
  const { redis, ...settings } = optionsOf(OF_CLIENT, options);
  return { ...settings, ...credentialsOf(redis) };
}

/** As its client keeps them: the token in the header that it is sent with. */
function credentialsOf(redis: object): { url: string; token: string } {
  const { baseUrl, headers } = Reflect.get(redis, "client");
  return { url: baseUrl, token: String(headers.authorization).replace(/^Bearer\s*/i, "") };
}

/**
 * The same, with URL and token from the environment: `UPSTASH_REDIS_REST_URL` and `_TOKEN`, or
 * else `KV_REST_API_URL` and `_TOKEN`. In Workers, pass the handler's `env`.
 *
 * @throws LeaseError `INVALID`, naming the variable that is missing or bad.
 */
export function upstashFromEnv(
  env?: Readonly<Record<string, unknown>>,
  options?: UpstashSettings,
): LeaseBackend {
  const settings = optionsOf(SETTINGS, options);
  const pair = pairFrom(
    env,
    ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"],
    ["KV_REST_API_URL", "KV_REST_API_TOKEN"],
  );
  return upstash({ ...settings, ...pair });
}

const WHO = "The endpoint";

/** What an endpoint without streams may answer. */
const NO_STREAMS = new Set([400, 404, 405, 501]);

class RestConnection implements RedisConnection {
  readonly #url: string;
  readonly #fetch: typeof fetch;
  readonly #init: RequestInit;
  /** Whether the endpoint has streams, as far as has been found out. */
  #streams = true;

  constructor(url: string, headers: Readonly<Record<string, string>>, custom?: typeof fetch) {
    this.#url = url;
    // Called without a receiver: the runtime's own refuses any other than the global object.
    this.#fetch = (input, init) => (custom ?? fetch)(input, init);
    this.#init = {
      headers,
      // A redirect could take the lease's credential to another place.
      redirect: "manual",
    };
  }

  async send(command: string[], signal: AbortSignal): Promise<unknown> {
    const { response, text } = await this.#exchange(command, signal);
    const reply = parsed(text);
    const error = hasText(reply, "error") ? reply.error : undefined;
    if (error !== undefined && /^[A-Z]{2,} /.test(error)) throw new Error(error);
    if (response.ok && typeof reply === "object" && reply !== null && "result" in reply) {
      return reply.result;
    }
    // In the endpoint's own form; a page of something in between says nothing about the token.
    if (error !== undefined && (response.status === 401 || response.status === 403)) {
      throw new Error("WRONGPASS the endpoint refuses the token");
    }
    throw foreignAnswer(response, text, WHO);
  }

  async #exchange(command: string[], signal: AbortSignal) {
    try {
      const response = await this.#fetch(this.#url, {
        ...this.#init,
        method: "POST",
        body: JSON.stringify(command),
        signal,
      });
      return { response, text: await bodyOf(response) };
    } catch (error) {
      throw failureOf(error, WHO, "fetch");
    }
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
