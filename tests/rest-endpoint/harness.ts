import { after, beforeEach } from "node:test";
import { RestEndpoint, type RestEndpointOptions } from "./endpoint.ts";
import { RedisConnection } from "./redis.ts";
import { RedisServer } from "./server-process.ts";

export interface Suite {
  readonly server: RedisServer;
  /** Straight to redis, past the endpoint. */
  readonly direct: RedisConnection;
  endpoint(options?: Partial<RestEndpointOptions>): Promise<RestEndpoint>;
}

/** One redis for the file's tests, emptied before each; every endpoint made is closed at the end. */
export function suite(): Suite {
  const endpoints: RestEndpoint[] = [];
  let server: RedisServer | undefined;
  let direct: RedisConnection | undefined;
  // Not in a `before` hook: with a name pattern that selects nothing, node starts `after` before
  // that one is done, and the redis started too late would keep the process alive.
  beforeEach(async () => {
    server ??= await RedisServer.start();
    direct ??= await RedisConnection.open(server);
    await direct.sendAll([["FLUSHALL"], ["SCRIPT", "FLUSH"]]);
  });
  after(async () => {
    for (const endpoint of endpoints) await endpoint.close();
    direct?.close();
    await server?.close();
  });
  return {
    get server() {
      return present(server);
    },
    get direct() {
      return present(direct);
    },
    async endpoint(options = {}) {
      const redis = present(server);
      const endpoint = await RestEndpoint.start({ redis, supportsKeyLocking: true, ...options });
      endpoints.push(endpoint);
      return endpoint;
    },
  };
}

export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("not there");
  return value;
}

export interface Answer {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

export async function request(
  endpoint: RestEndpoint,
  path: string,
  init: RequestInit & { readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const headers = { authorization: `Bearer ${endpoint.token}`, ...init.headers };
  const response = await fetch(endpoint.url + path, { ...init, headers });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    text: await response.text(),
  };
}

/** One command as a JSON body. */
export function command(
  endpoint: RestEndpoint,
  words: readonly (string | number)[],
  headers: Record<string, string> = {},
): Promise<Answer> {
  return request(endpoint, "/", { method: "POST", body: JSON.stringify(words), headers });
}

export function pipeline(
  endpoint: RestEndpoint,
  commands: readonly (readonly (string | number)[])[],
  path = "/pipeline",
): Promise<Answer> {
  return request(endpoint, path, { method: "POST", body: JSON.stringify(commands) });
}

/** Polls until the condition holds. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadlineMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
