/**
 * The Web Locks API across machines: a lock manager in the standard's shape, on leases.
 *
 * @module
 */
import { HOLDER, LONGEST_WAIT_MS, TTL_MS } from "../lease/arguments.js";
import { argument, having, optionsOf, type Table } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { LeaseError } from "../lease/errors.js";
import type { KeyState } from "../lease/key-state.js";
import { keyOf } from "../lease/key-text.js";
import type { Lease } from "../lease/lease.js";
import { hold, Lock } from "./web-locks/lock.js";
import {
  type LockGrantedCallback,
  type LockMode,
  type LockOptions,
  type LockRequest,
  requestOf,
} from "./web-locks/request.js";
import { Turns } from "./web-locks/turns.js";

export type { Lock, LockGrantedCallback, LockMode, LockOptions };

/** How a lock manager goes about it. */
export interface LockManagerOptions {
  /** What `query` shows of this manager's locks. Random by default. Not a secret. */
  readonly clientId?: string;
  /** Length of a lease's term in milliseconds: 100 to 86 400 000; the client's by default. */
  readonly ttlMs?: number;
}

const OPTIONS: Table<LockManagerOptions> = { clientId: HOLDER, ttlMs: TTL_MS };

/** A lock that is held, or a request that waits for one. */
export interface LockInfo {
  readonly name: string;
  /** Not known of what waits elsewhere. */
  readonly mode?: LockMode;
  /** Not known of what waits elsewhere. */
  readonly clientId?: string;
}

/** How things stood when `query` was called. */
export interface LockManagerSnapshot {
  readonly held: LockInfo[];
  readonly pending: LockInfo[];
}

/** What is used of a client. */
export type LockClient = Pick<LeaseClient, "acquire" | "tryAcquire" | "inspect" | "list">;

const CLIENT = having("a LeaseClient", "acquire", "tryAcquire", "inspect", "list");

/** Of how many names that nobody here is at any more it is known that they were used. */
const REMEMBERED = 64;

/** No name begins so: the standard keeps these for itself. */
const HASHED = "-";

/** What this manager has to do with a name. */
interface Use {
  readonly key: Promise<string>;
  readonly turns: Turns;
  readonly held: Set<Lease>;
  /** How many have not ended. */
  requests: number;
}

/**
 * A `LockManager` like that of `navigator.locks`, for everybody who uses the same lease host.
 */
export class LockManager {
  readonly #leases: LockClient;
  readonly #terms: { readonly holder: string; readonly ttlMs?: number };
  readonly #uses = new Map<string, Use>();
  /** The names without requests, the longest unused first. */
  readonly #idle = new Set<string>();

  /** @throws LeaseError `INVALID` for a bad argument. */
  constructor(leases: LockClient, options?: LockManagerOptions) {
    const { clientId = crypto.randomUUID(), ...terms } = optionsOf(OPTIONS, options);
    this.#leases = argument("leases", CLIENT, leases);
    this.#terms = { holder: clientId, ...terms };
  }

  /**
   * Waits for a lock, calls back with it, and releases it when the callback is done.
   *
   * @returns What the callback returned.
   * @throws TypeError, DOMException `NotSupportedError` for arguments as the standard refuses them;
   * the reason of `options.signal`, if it aborts before the lock is granted; what the callback threw;
   * DOMException `AbortError` as soon as the lock is broken, with the LeaseError `LOST` as its cause;
   * LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`, `DONE` for want of a host that grants it.
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: LockOptions,
    callback: LockGrantedCallback<T>,
  ): Promise<Awaited<T>>;
  async request(...args: unknown[]): Promise<unknown> {
    const request = requestOf(args);
    const { name, mode, callback } = request;
    const use = this.#enter(name);
    try {
      const lease = await this.#lease(use, request);
      if (lease === undefined) return await callback(null);
      use.held.add(lease);
      try {
        return await hold(lease, () => callback(new Lock(lease, name, mode)));
      } finally {
        use.held.delete(lease);
      }
    } finally {
      this.#exit(name, use);
    }
  }

  /**
   * The locks that are held, and the requests that wait: of all keys of the lease host where it can
   * list them, else of the names that this manager used of late.
   *
   * @throws LeaseError `UNAVAILABLE`, `DENIED`.
   */
  async query(): Promise<LockManagerSnapshot> {
    const names = new Map<string, string>();
    for (const [name, { key }] of this.#uses) names.set(await key, name);
    const states = await this.#states([...names.keys()]);
    const { holder: clientId } = this.#terms;
    const held: LockInfo[] = [];
    const pending: LockInfo[] = [];
    for (const [name, { turns }] of this.#uses) {
      pending.push(...turns.waiting.map((mode) => ({ name, mode, clientId })));
    }
    for (const { key, holders, waiters } of states) {
      const name = names.get(key) ?? key;
      for (const { limit, holder } of holders) {
        held.push({ name, mode: limit === 1 ? "exclusive" : "shared", clientId: holder });
      }
      const own = this.#uses.get(name)?.turns.waiting.length ?? 0;
      for (let other = own; other < waiters; other += 1) pending.push({ name });
    }
    return { held, pending };
  }

  get [Symbol.toStringTag](): string {
    return "LockManager";
  }

  /** The lease, or nothing if it was asked for `ifAvailable` and is not. */
  async #lease(use: Use, { mode, ifAvailable, steal, signal }: LockRequest) {
    if (!ifAvailable && !steal) return await use.turns.next(mode, signal);
    if (ifAvailable && use.turns.isBefore(mode)) return undefined;
    const key = await use.key;
    if (ifAvailable) return await this.#leases.tryAcquire(key, { ...this.#terms, mode });
    const lease = await this.#leases.acquire(key, { ...this.#terms, steal, waitMs: 0 });
    for (const broken of use.held) broken.verify(); // Elsewhere it is found at the next renewal.
    return lease;
  }

  #enter(name: string): Use {
    const use = this.#uses.get(name) ?? this.#begin(name);
    use.requests += 1;
    this.#uses.set(name, use);
    this.#idle.delete(name);
    return use;
  }

  #exit(name: string, use: Use): void {
    use.requests -= 1;
    if (use.requests > 0) return;
    this.#idle.add(name);
    const [longest] = this.#idle;
    if (this.#idle.size > REMEMBERED && longest !== undefined) {
      this.#idle.delete(longest);
      this.#uses.delete(longest);
    }
  }

  #begin(name: string): Use {
    const key = keyOf(name, HASHED);
    const ask = async (mode: LockMode, signal: AbortSignal) =>
      await this.#leases.acquire(await key, {
        ...this.#terms,
        ...{ mode, signal, waitMs: LONGEST_WAIT_MS },
      });
    return { key, turns: new Turns(ask), held: new Set(), requests: 0 };
  }

  async #states(keys: readonly string[]): Promise<KeyState[]> {
    try {
      const listed: KeyState[] = [];
      for await (const state of this.#leases.list()) listed.push(state);
      return listed;
    } catch (error) {
      if (!LeaseError.is(error) || error.code !== "INVALID") throw error;
    }
    const states = await Promise.all(keys.map((key) => this.#leases.inspect(key)));
    return states.filter((state) => state !== undefined);
  }
}
