import { usualTimeoutMs } from "#client-wasm";
import { type AcquireOptions, KEY } from "../lease/arguments.js";
import { argument, type Check, hasMethod } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import type { Clock } from "../lease/clock.js";
import { invalid, toLeaseError } from "../lease/errors.js";
import type { Lease } from "../lease/lease.js";
import { NO_ANSWER } from "../lease/questions.js";
import { type Released, released } from "../lease/released.js";
import { type CallLimits, FirstAbort } from "../lease/waiting.js";

/** The most keys that one call acquires: each costs a round trip, one after the other. */
const MAX_KEYS = 64;

const LEASES: Check = {
  must: "an array of leases, one at least",
  is: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((lease) => hasMethod(lease, "check", "verify", "release", "remainingMs")),
};

/**
 * Leases that are of use only together: with one signal, checked and released as one.
 *
 * Each has its own fence and ends by itself; the set is as good as the first of them to end.
 */
export class LeaseSet implements AsyncDisposable {
  /** The leases, in the order of their keys. */
  readonly leases: readonly Lease[];
  readonly #lost = new AbortController();

  /**
   * Joins leases that are had already.
   *
   * @throws LeaseError `INVALID` for none.
   */
  constructor(leases: readonly Lease[]) {
    this.leases = [...argument("leases", LEASES, leases)];
    for (const { signal } of this.leases) {
      const lose = () => this.#lost.abort(signal.reason);
      if (signal.aborted) {
        lose();
      } else {
        signal.addEventListener("abort", lose, { once: true });
      }
    }
  }

  /** The lease on a key, for its fence; undefined if the set has none on it. */
  get(key: string): Lease | undefined {
    return this.leases.find((lease) => lease.key === key);
  }

  /** Aborts as soon as one of the leases is lost, for that lease's reason. Not by a release. */
  get signal(): AbortSignal {
    for (const lease of this.leases) {
      void lease.signal; // Reading it is what finds a term that is over.
    }
    return this.#lost.signal;
  }

  /** Whether every one of the leases can be trusted now. */
  get held(): boolean {
    return this.leases.every(({ held }) => held);
  }

  /** How long all of them can be trusted from now on, in milliseconds; 0 once one is not held. */
  remainingMs(): number {
    return Math.min(...this.leases.map((lease) => lease.remainingMs()));
  }

  /**
   * Throws unless every one of the leases can be trusted now, by the clock alone.
   *
   * @throws LeaseError `LOST`, of the first that can't.
   */
  check(): void {
    for (const lease of this.leases) {
      lease.check();
    }
  }

  /**
   * Asks the host about every one of the leases, then checks.
   *
   * @throws LeaseError what `Lease.verify()` throws.
   */
  async verify(options?: CallLimits): Promise<void> {
    await Promise.all(this.leases.map((lease) => lease.verify(options)));
    this.check();
  }

  /** Gives all leases back, at once, as `Lease.release()` does. Happens once. */
  async release(options?: CallLimits): Promise<Released> {
    const results = this.leases.map(
      async (lease) => [lease.key, await lease.release(options)] as const,
    );
    return released(await Promise.all(results));
  }

  /** Releases the leases, those left out that were detached or handed over. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.leases.map((lease) => lease[Symbol.asyncDispose]()));
  }
}

/**
 * Acquires a lease on each of the keys, one after the other in one order for everybody: who wants
 * the same keys in another order can't end up waiting for us while we wait for it.
 */
export async function acquireAll(
  client: Pick<LeaseClient, "acquire">,
  keys: readonly string[],
  options: AcquireOptions & { readonly waitMs: number },
  clock: Clock,
): Promise<LeaseSet> {
  const begun = clock.monotonic();
  const { waitMs, timeoutMs = usualTimeoutMs(waitMs) } = options;
  const leases: Lease[] = [];
  const ended = new FirstAbort(options.signal);
  try {
    for (const key of inOrder(keys)) {
      const left = (ms: number) => Math.ceil(ms - (clock.monotonic() - begun));
      if (left(timeoutMs) < 1) throw toLeaseError(NO_ANSWER, { key });
      const lease = await client.acquire(key, {
        ...options,
        // Not 0, which would ask once, and say HELD where the time has run out.
        waitMs: waitMs === 0 ? 0 : Math.max(left(waitMs), 1),
        timeoutMs: left(timeoutMs),
        signal: ended.signal,
      });
      leases.push(lease);
      ended.add(lease.signal);
    }
    const set = new LeaseSet(leases);
    set.check();
    return set;
  } catch (error) {
    for (const lease of leases) {
      lease.release();
    }
    throw error;
  } finally {
    ended.stop();
  }
}

const KEYS: Check = {
  must: "an array of keys, each text of 1 to 512 bytes in UTF-8, without lone surrogates",
  is: (value) => Array.isArray(value) && value.every((key) => KEY.is(key)),
};

/** The keys once each, in the order of their UTF-16 code units. */
function inOrder(keys: readonly string[]): string[] {
  const once = [...new Set(argument("keys", KEYS, keys))].sort();
  if (once.length === 0 || once.length > MAX_KEYS) {
    throw invalid("keys", `must be 1 to ${MAX_KEYS} different keys, not ${once.length}`);
  }
  return once;
}
