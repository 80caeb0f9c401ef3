/** Leases that are held from far away, with nothing else in their way. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type LeaseBackend, LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import type { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";

/** Lets all bytes to and from a port of this machine take half of a round trip. */
export class Distance implements AsyncDisposable {
  roundTripMs: number;
  readonly #server = createServer((near) => this.#join(near));
  readonly #sockets = new Set<Socket>();
  readonly #target: number;

  private constructor(target: number, roundTripMs: number) {
    this.#target = target;
    this.roundTripMs = roundTripMs;
  }

  static async start(target: number, roundTripMs: number): Promise<Distance> {
    const distance = new Distance(target, roundTripMs);
    distance.#server.listen(0, "127.0.0.1");
    await once(distance.#server, "listening");
    return distance;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }

  #join(near: Socket): void {
    const far = connect(this.#target, "127.0.0.1");
    this.#carry(near, far);
    this.#carry(far, near);
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on("data", (bytes) => setTimeout(() => to.write(bytes), this.roundTripMs / 2));
    from.on("error", () => {});
    from.on("close", () => {
      this.#sockets.delete(from);
      setTimeout(() => to.destroy(), this.roundTripMs / 2);
    });
  }
}

export interface Holding {
  readonly ttlMs: number;
  readonly roundTripMs: number;
  /** Whether another has the key first, for one term. */
  readonly waits: boolean;
  /** For how many terms it is held. */
  readonly terms: number;
}

/** An acquire is given up after five seconds: what is farther away than this goes there once it holds. */
export const NEAREST_MS = 4_000;

/** Whether a lease from far away is lost while it is held. Host and way are not new to it. */
export async function isLost(
  host: FarHost,
  { ttlMs, roundTripMs, waits, terms }: Holding,
): Promise<boolean> {
  await using distance = await Distance.start(host.port, Math.min(roundTripMs, NEAREST_MS));
  const key = crypto.randomUUID();
  const leases = new LeaseClient(host.backend(distance.url));
  await leases.inspect(key);
  const near = new LeaseClient(host.backend(`http://127.0.0.1:${host.port}`));
  const before = await near.acquire(key, { ttlMs });
  if (!waits) await before.release();
  const asking = leases.acquire(key, { ttlMs, waitMs: 4 * ttlMs + 10_000 });
  if (waits) {
    await sleep(ttlMs);
    await before.release();
  }
  const lease = await asking;
  distance.roundTripMs = roundTripMs;
  await Promise.race([once(lease.signal, "abort"), sleep(terms * ttlMs)]);
  const isLost = !lease.held;
  await lease.release();
  return isLost;
}

/** A real host, and the ways to it. */
export interface FarHost extends AsyncDisposable {
  readonly port: number;
  /** The first term that a holder is told, without or after a wait. */
  told(ttlMs: number, waits: boolean): number;
  backend(url: string): LeaseBackend;
}

export async function farDurableObject(): Promise<FarHost> {
  const token = "a-token-from-far-away";
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL("./contender-worker.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: token },
  });
  return {
    port: Number((await workers.url()).port),
    // A waiter's begins with 3 s at most.
    told: (ttlMs, waits) => (waits ? Math.min(ttlMs, 3_000) : ttlMs) * 0.95,
    backend: (url) => http({ url, token }),
    [Symbol.asyncDispose]: () => workers.stop(),
  };
}

export async function farRedis(server: RedisServer): Promise<FarHost> {
  const endpoint = await RestEndpoint.start({
    redis: { port: server.port },
    supportsKeyLocking: true,
  });
  const { token } = endpoint;
  return {
    port: Number(new URL(endpoint.url).port),
    told: (ttlMs) => ttlMs - Math.min(500, ttlMs / 40),
    backend: (url) => upstash({ url, token }),
    [Symbol.asyncDispose]: () => endpoint.close(),
  };
}
