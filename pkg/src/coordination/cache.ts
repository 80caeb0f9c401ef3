/**
 * Values that are served from memory while a shared lease holds, and never after a write to them
 * has returned.
 *
 * @module
 */
import { ALONE, type Alone, KEY, LIMITS, LONGEST_WAIT_MS, TTL_MS } from "../lease/arguments.js";
import { LEASES_BELONG_TO_REQUESTS } from "../lease/belonging.js";
import { argument, callback, flag, having, optionsOf, type Table } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { LeaseError } from "../lease/errors.js";
import type { Lease } from "../lease/lease.js";

/** What is used of a client. */
export type CacheClient = Pick<LeaseClient, "run" | "tryAcquire" | "watch">;

/** How a value is kept. */
export interface CachedOptions {
  /**
   * The readers' term, in milliseconds: 100 to 86 400 000; 10 000 by default. As long as that may a
   * reader that can't be reached hold up a write. The same for everybody who uses the key.
   */
  readonly ttlMs?: number;
  /** How long `get` waits for a lease before it loads without, in milliseconds; 1 000 by default. */
  readonly timeoutMs?: number;
  /**
   * That this runs in a Durable Object of your own, whose leases last from request to request.
   * Elsewhere on Workers a lease belongs to the request that made it, and nothing is kept.
   */
  readonly inDurableObject?: boolean;
}

/** On what terms a value is written: nobody else has its lease then. */
export type WriteOptions = Omit<Alone, "steal">;

const { steal: _, ...WRITE } = ALONE;
const OPTIONS: Table<CachedOptions> = {
  ttlMs: TTL_MS,
  timeoutMs: LIMITS.timeoutMs,
  inDurableObject: flag,
};
const CLIENT = having("a LeaseClient", "run", "tryAcquire", "watch");

interface Kept<T> {
  readonly lease: Lease;
  readonly value: T;
  /** Ends the watching for writers. */
  readonly watching: AbortController;
}

/** One value, kept in memory while it can't have changed. */
export class Cached<T> implements AsyncDisposable {
  /** Whether values are kept in memory; if not, each `get` loads. */
  readonly keeps: boolean;
  readonly #leases: CacheClient;
  readonly #key: string;
  readonly #load: () => T | Promise<T>;
  readonly #ttlMs: number;
  readonly #timeoutMs: number;
  #kept: Kept<T> | undefined;
  #filling: Promise<{ readonly value: T } | undefined> | undefined;
  #isRead = false;
  #hostAnswers = true;
  #isClosed = false;

  /** @internal */
  constructor(
    leases: CacheClient,
    key: string,
    load: () => T | Promise<T>,
    options: CachedOptions | undefined,
  ) {
    this.#leases = argument("leases", CLIENT, leases);
    this.#key = argument("key", KEY, key);
    this.#load = argument("load", callback, load);
    const settings = optionsOf(OPTIONS, options);
    this.#ttlMs = settings.ttlMs ?? 10_000;
    this.#timeoutMs = settings.timeoutMs ?? 1_000;
    this.keeps = settings.inDurableObject === true || !LEASES_BELONG_TO_REQUESTS;
    if (!this.keeps) sayThatNothingIsKept();
  }

  /**
   * The value: from memory while the lease on it holds, else as it is loaded now. Everybody gets the
   * same object: don't change it.
   *
   * @throws What loading throws; LeaseError `DENIED`, `INVALID` for a mistake. Where there is no lease
   * to be had, the value is loaded, and not kept: the host gives no answer, the client is closed, the
   * key's work is done.
   */
  async get(): Promise<T> {
    const kept = this.#kept;
    if (kept?.lease.held) {
      this.#isRead = true;
      return kept.value;
    }
    if (!this.keeps || this.#isClosed) return await this.#load();
    const filling = this.#fill();
    // A host that was silent the last time is asked beside the loading, not before.
    const filled = this.#hostAnswers ? await filling : undefined;
    return filled === undefined ? await this.#load() : filled.value;
  }

  /**
   * Runs `fn`, which changes the value where it is stored, while nobody has it in memory: readers
   * are asked to let go, and one that can't be asked has done so by the end of its term. Once this
   * has returned, everybody gets what `fn` has stored.
   *
   * @param options.waitMs - How long to wait for the readers, and other writers: twice their term by
   * default, and a day at most.
   * @throws What `LeaseClient.run` throws. The value may have been changed then: write it again.
   */
  async write<R>(options: WriteOptions, fn: (lease: Lease) => R | Promise<R>): Promise<R>;
  async write<R>(fn: (lease: Lease) => R | Promise<R>): Promise<R>;
  async write<R>(
    ...rest:
      | [options: WriteOptions, fn: (lease: Lease) => R | Promise<R>]
      | [fn: (lease: Lease) => R | Promise<R>]
  ): Promise<R> {
    const [options, fn] = rest.length === 1 ? [undefined, rest[0]] : rest;
    const waitMs = Math.min(2 * this.#ttlMs, LONGEST_WAIT_MS);
    const settings = { waitMs, ...optionsOf<WriteOptions>(WRITE, options) };
    this.#letGo();
    return await this.#leases.run(this.#key, settings, fn);
  }

  /** Lets go of the value: from here on each `get` loads. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#filling?.catch(() => {});
    await this.#letGo();
  }

  /** Closes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #fill(): Promise<{ readonly value: T } | undefined> {
    this.#filling ??= this.#filled();
    this.#filling.catch(() => {});
    return this.#filling;
  }

  /** The value under a new lease; nothing if there is none to be had. */
  async #filled(): Promise<{ readonly value: T } | undefined> {
    let lease: Lease | undefined;
    try {
      lease = await this.#acquire();
      if (lease === undefined) return undefined;
      const value = await this.#load();
      // Here, and not a turn later: who asks from now on must not get what was valid before.
      if (!lease.held || this.#isClosed) return undefined;
      this.#keep({ lease, value, watching: new AbortController() });
      return { value };
    } finally {
      this.#filling = undefined;
      if (lease !== undefined && this.#kept?.lease !== lease) lease.release();
    }
  }

  async #acquire(): Promise<Lease | undefined> {
    const [ttlMs, timeoutMs] = [this.#ttlMs, this.#timeoutMs];
    try {
      const lease = await this.#leases.tryAcquire(this.#key, { mode: "shared", ttlMs, timeoutMs });
      this.#hostAnswers = true;
      return lease;
    } catch (error) {
      this.#hostAnswers = !(LeaseError.is(error) && error.code === "UNAVAILABLE");
      if (isMistake(error)) throw error;
      return undefined;
    }
  }

  #keep(kept: Kept<T>): void {
    this.#kept = kept;
    this.#isRead = true;
    const { lease } = kept;
    const letGo = () => {
      if (this.#kept === kept) this.#letGo();
    };
    lease.addEventListener("lost", letGo);
    lease.addEventListener("renewed", () => {
      // Wanted by a writer, or not read since the last renewal.
      if (lease.wanted > 0 || !this.#isRead) letGo();
      this.#isRead = false;
    });
    this.#untilWanted(kept).then(letGo, () => {
      // Left to the renewals, and to the term's end.
    });
  }

  async #untilWanted({ watching: { signal } }: Kept<T>): Promise<void> {
    for await (const { waiters } of this.#leases.watch(this.#key, { signal })) {
      if (waiters > 0) return;
    }
  }

  async #letGo(): Promise<void> {
    const kept = this.#kept;
    this.#kept = undefined;
    kept?.watching.abort();
    await kept?.lease.release();
  }
}

/**
 * A value that `load` reads from where it is stored, under the lease on `key`.
 *
 * @param load - Must see all that a write has stored that was through before it was called: no
 * replica that lags behind.
 */
export function cached<T>(
  leases: CacheClient,
  key: string,
  load: () => T | Promise<T>,
  options?: CachedOptions,
): Cached<T> {
  return new Cached(leases, key, load, options);
}

/** Whether somebody has to mend something before there can be a lease. */
function isMistake(error: unknown): boolean {
  if (!LeaseError.is(error)) return true;
  const { code, reason } = error;
  return code === "DENIED" || (code === "INVALID" && reason !== "closed");
}

let isSaid = false;

function sayThatNothingIsKept(): void {
  if (isSaid) return;
  isSaid = true;
  console.warn(
    "leasehold/cache: on Workers a lease belongs to its request, so nothing is kept, and each get() loads. " +
      "In a Durable Object of your own, pass { inDurableObject: true }.",
  );
}
