import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { Executor } from "./execute.ts";
import { Faults } from "./faults.ts";
import { Handler } from "./handler.ts";
import { evictVolatile, restoreSnapshot, type Snapshot, takeSnapshot } from "./keyspace.ts";
import { CommandBill, RequestLog } from "./log.ts";
import { seededRandom } from "./random.ts";
import type { RedisAddress, RedisConnection } from "./redis.ts";
import { ScriptRewriter } from "./shebang.ts";
import { Streams } from "./sse.ts";
import { Throttle } from "./throttle.ts";
import { Upstream } from "./upstream.ts";

export interface RestEndpointOptions {
  readonly redis: RedisAddress;
  /** Default: a random one. */
  readonly token?: string;
  readonly readOnlyToken?: string;
  /** For faults with a probability. Default 1. */
  readonly seed?: number;
  /** False leaves scripts alone, so that redis itself rejects the allow-key-locking flag. */
  readonly supportsKeyLocking: boolean;
  /** Also fail on a flag off the first line and on undeclared keys without the flag. */
  readonly strictScripts?: boolean;
  /** Whether commands are counted, which takes time for each that a script runs. Default: true. */
  readonly billed?: boolean;
  /** Default 0: any free port. */
  readonly port?: number;
}

/** A loopback stand-in for the Upstash Redis REST API in front of a real redis. */
export class RestEndpoint {
  readonly url: string;
  readonly token: string;
  readonly readOnlyToken: string | undefined;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly commands: CommandBill;
  readonly streams: Streams;
  readonly #server: Server;
  readonly #upstream: Upstream;
  readonly #throttle = new Throttle();
  readonly #closing = new AbortController();

  private constructor(server: Server, port: number, options: RestEndpointOptions) {
    this.url = `http://127.0.0.1:${port}`;
    this.token = options.token ?? randomBytes(24).toString("base64url");
    this.readOnlyToken = options.readOnlyToken;
    this.faults = new Faults(seededRandom(options.seed ?? 1));
    this.requests = new RequestLog();
    this.commands = new CommandBill(() => this.#upstream.main());
    this.#upstream = new Upstream(
      options.redis,
      options.billed === false ? undefined : this.commands,
    );
    this.streams = new Streams(this.#upstream, (kind) => this.faults.note(kind));
    const scripts = options.supportsKeyLocking
      ? new ScriptRewriter({ strict: options.strictScripts ?? false })
      : undefined;
    const handler = new Handler({
      tokens: this,
      executor: new Executor(this.#upstream, scripts, this.commands),
      faults: this.faults,
      requests: this.requests,
      streams: this.streams,
      throttle: this.#throttle,
      closing: this.#closing.signal,
    });
    this.#server = server;
    server.on("request", (request, response) => void handler.serve(request, response));
  }

  static async start(options: RestEndpointOptions): Promise<RestEndpoint> {
    // An idle connection that the server closes can meet a request on its way.
    const server = createServer({ keepAliveTimeout: 0 });
    server.listen(options.port ?? 0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no loopback port");
    return new RestEndpoint(server, address.port, options);
  }

  /** Delays what exceeds this rate; `Infinity` lifts it. */
  throttle(commandsPerSecond: number): void {
    this.#throttle.limit(commandsPerSecond);
  }

  /** Remembers all data, for `rollBack`. */
  checkpoint(): Promise<Snapshot> {
    return this.#maintain(takeSnapshot);
  }

  /** A failover that loses every write since the checkpoint, and the script cache. */
  async rollBack(checkpoint: Snapshot): Promise<void> {
    await this.#maintain((redis) => restoreSnapshot(redis, checkpoint));
    this.faults.note("failover");
  }

  /** Deletes keys that have a TTL, as eviction under memory pressure would, and names them. */
  async evict(pattern = "*"): Promise<string[]> {
    const keys = await this.#maintain((redis) => evictVolatile(redis, pattern));
    this.faults.note("eviction");
    return keys;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#closing.abort();
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    this.#upstream.close();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #maintain<T>(work: (redis: RedisConnection) => Promise<T>): Promise<T> {
    const connection = await this.#upstream.dedicated();
    try {
      return await work(connection);
    } finally {
      connection.close();
    }
  }
}
