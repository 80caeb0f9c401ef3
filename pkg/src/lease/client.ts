import { Holder, inspect, revoke } from "#client-wasm";
import { acquireAll, type LeaseSet } from "../coordination/lease-set.js";
import {
  ACQUIRE,
  type AcquireOptions,
  CLIENT,
  CLOSE,
  KEY,
  type LeaseClientOptions,
  LIMITS,
} from "./arguments.js";
import { ask } from "./ask.js";
import type { LeaseBackend, WireResponse } from "./backend.js";
import { argument, optionsOf } from "./check.js";
import { systemClock } from "./clock.js";
import { closeAll, closed } from "./close.js";
import {
  BackendError,
  checked,
  type Failure,
  LeaseError,
  toLeaseError,
  withStack,
} from "./errors.js";
import { type LeaseHandle, parseHandle } from "./handle.js";
import type { Lease } from "./lease.js";
import { backendOf } from "./recognise.js";
import type { Released } from "./released.js";
import { type RunArguments, run } from "./run.js";
import { guarded, Session, type Surroundings } from "./session.js";
import type { Send } from "./step.js";
import { ambientWaitUntil } from "./wait-until.js";
import { type CallLimits, limited, onAbort } from "./waiting.js";

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 10_000;

/**
 * On Workers whatever a request has made may be touched by that request alone, and a client may
 * serve many. Each lease there is looked at by its own timer and by whoever reads it.
 */
const LEASES_BELONG_TO_REQUESTS = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** A live lease, as an observer sees it. */
export interface LeaseInfo {
  /** Who holds it. */
  readonly holder: string;
  /** Its fence. */
  readonly fence: bigint;
  /** Time until the host frees the key unless the lease is renewed, in milliseconds. */
  readonly remainingMs: number;
  /** How many wait for the key. */
  readonly waiters: number;
}

/** Acquires leases from one host. */
export class LeaseClient implements AsyncDisposable {
  readonly #around: Surroundings;
  readonly #options: LeaseClientOptions;
  #holder: string | undefined;
  #closing: Promise<Released> | undefined;

  /**
   * @param backend - What decides who holds a key: such as `durableObject(env.LEASES)`.
   * @throws LeaseError `INVALID` for anything else, and for a bad option.
   */
  constructor(backend: LeaseBackend, options?: LeaseClientOptions) {
    const host = backendOf(backend);
    const settings = optionsOf(CLIENT, options);
    const { clock = systemClock, keepProcessAlive = false, onEvent, waitUntil } = settings;
    this.#options = settings;
    this.#holder = settings.holder;
    this.#around = {
      host,
      clock,
      keepProcessAlive,
      held: new Set(),
      open: LEASES_BELONG_TO_REQUESTS ? undefined : new Set(),
      waitUntil: (promise) => outlive(waitUntil, promise),
      takeBack: (handle) => outlive(waitUntil, this.#takeBack(handle)),
      tell: (event) => guarded(() => onEvent?.(event)),
    };
  }

  /**
   * Waits for a lease.
   *
   * @throws LeaseError `HELD` if another has it and `waitMs` is 0; `TIMEOUT` if the wait ran out;
   * `UNAVAILABLE`, `DENIED`, `INVALID`. If `options.signal` aborts, its reason instead, at once;
   * whatever the host granted meanwhile is taken back in the background.
   */
  async acquire(key: string, options?: AcquireOptions): Promise<Lease> {
    return await this.#acquire(key, optionsOf(ACQUIRE, options));
  }

  /**
   * Asks for a lease exactly once; `waitMs` is of no account.
   *
   * @returns The lease, or undefined when another holder has the key.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async tryAcquire(key: string, options?: AcquireOptions): Promise<Lease | undefined> {
    try {
      return await this.#acquire(key, { ...optionsOf(ACQUIRE, options), waitMs: 0 });
    } catch (error) {
      if (LeaseError.is(error) && error.code === "HELD") {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * Runs `fn` while holding a lease, which is released afterwards. Settles only after `fn` has
   * settled and the release is through or given up.
   *
   * `options.signal` cancels the waiting only: stop `fn` by `lease.signal`, or by a signal of your
   * own.
   *
   * @returns What `fn` returned.
   * @throws What `fn` threw, whatever else went wrong; LeaseError `LOST` if the lease was lost
   * before `fn` was done; what `acquire` throws.
   */
  run<T>(key: string, fn: (lease: Lease) => T | Promise<T>): Promise<T>;
  run<T>(key: string, options: AcquireOptions, fn: (lease: Lease) => T | Promise<T>): Promise<T>;
  async run<T>(key: string, ...rest: RunArguments<AcquireOptions, Lease, T>): Promise<T> {
    return await run((options) => this.acquire(key, options), rest);
  }

  /**
   * Waits for a lease on each of several keys, and gets all of them or none. Whatever the order of
   * `keys`, they are asked for in one order, so that callers of `acquireAll` never wait for each
   * other in a circle. `waitMs` and `signal` are those of the whole.
   *
   * @param keys - 1 to 64; a key given twice counts once.
   * @throws What `acquire` throws, for the first key that can't be had; LeaseError `LOST` if one
   * that was had is lost meanwhile. The leases had until then are given back in the background.
   */
  async acquireAll(keys: readonly string[], options?: AcquireOptions): Promise<LeaseSet> {
    const { waitMs = this.#options.waitMs ?? DEFAULT_WAIT_MS, ...rest } = optionsOf(
      ACQUIRE,
      options,
    );
    return await acquireAll(this, keys, { ...rest, waitMs }, this.#around.clock);
  }

  /**
   * Runs `fn` while holding a lease on each of several keys: `run`, by way of `acquireAll`.
   *
   * @returns What `fn` returned.
   * @throws What `run` and `acquireAll` throw.
   */
  runAll<T>(keys: readonly string[], fn: (set: LeaseSet) => T | Promise<T>): Promise<T>;
  runAll<T>(
    keys: readonly string[],
    options: AcquireOptions,
    fn: (set: LeaseSet) => T | Promise<T>,
  ): Promise<T>;
  async runAll<T>(
    keys: readonly string[],
    ...rest: RunArguments<AcquireOptions, LeaseSet, T>
  ): Promise<T> {
    return await run((options) => this.acquireAll(keys, options), rest);
  }

  /**
   * Carries on a lease that was transferred, or detached elsewhere. It gets a new id and a higher
   * fence; of two that resume the same handle exactly one gets it.
   *
   * @throws LeaseError `LOST` if the handle's lease is gone or was taken up; `UNAVAILABLE`,
   * `DENIED`, `INVALID`.
   */
  async resume(handle: LeaseHandle, options?: CallLimits): Promise<Lease> {
    this.#assertOpen();
    const { id, fence, key, holder, ttlMs } = parseHandle(handle);
    const { signal, timeoutMs } = optionsOf(LIMITS, options);
    const settings = { key, holder, ttlMs, waitMs: 0, reentrant: false, renew: "auto", timeoutMs };
    const machine = checked(() => Holder.resume(settings, id, fence));
    return await this.#sought(new Session(this.#around, machine, settings), signal);
  }

  /**
   * Asks the host who holds a key.
   *
   * @returns Undefined if nobody does.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async inspect(key: string, options?: CallLimits): Promise<LeaseInfo | undefined> {
    const answer = await this.#ask(inspect, key, options);
    const { holder, fence, ttlMs, waiters } = answer;
    if (answer.outcome === "inspected" && holder === undefined) {
      return undefined;
    }
    if (
      answer.outcome !== "inspected" ||
      typeof holder !== "string" ||
      !/^\d{1,20}$/.test(String(fence)) ||
      typeof ttlMs !== "number" ||
      typeof waiters !== "number"
    ) {
      throw unreadable(key);
    }
    return { holder, fence: BigInt(String(fence)), remainingMs: ttlMs, waiters };
  }

  /**
   * Ends whatever lease a key has. For operators: its holder learns of it at its next renewal.
   *
   * @returns Whether there was one.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async revoke(key: string, options?: CallLimits): Promise<boolean> {
    const answer = await this.#ask(revoke, key, options);
    if (answer.outcome !== "revoked") {
      throw unreadable(key);
    }
    return answer.revoked === true;
  }

  /** The leases of this client that are held now, those left out that were detached. */
  get heldLeases(): readonly Lease[] {
    return [...this.#around.held].flatMap(({ isTrusted, lease }) =>
      isTrusted && lease !== undefined ? [lease] : [],
    );
  }

  /**
   * Ends the client, as when its process is told to stop: waits are cut short, and every lease is
   * released but those that were detached. From here on each call, and each wait that was cut
   * short, rejects with `INVALID`, reason `closed`. Happens once.
   *
   * On Workers only the held leases are ended: a wait ends with its request.
   *
   * @param options.timeoutMs - How long to wait for the host's word, in milliseconds; a release is
   * given up by itself after 5 000.
   * @returns The keys that the host has back, and those of which it has not said so.
   * @throws LeaseError `INVALID` for a bad option, and for nothing that the host does.
   */
  async close(options?: Pick<CallLimits, "timeoutMs">): Promise<Released> {
    const { timeoutMs } = optionsOf(CLOSE, options);
    const { held, open = held, clock } = this.#around;
    this.#closing ??= closeAll(open, clock, timeoutMs);
    return await this.#closing;
  }

  /** Closes the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) {
      throw closed();
    }
  }

  async #acquire(key: string, options: AcquireOptions): Promise<Lease> {
    return await this.#sought(this.#open(argument("key", KEY, key), options), options.signal);
  }

  #open(key: string, options: AcquireOptions): Session {
    this.#assertOpen();
    this.#holder ??= crypto.randomUUID();
    const defaults = this.#options;
    const {
      holder = this.#holder,
      ttlMs = defaults.ttlMs ?? DEFAULT_TTL_MS,
      waitMs = defaults.waitMs ?? DEFAULT_WAIT_MS,
      reentrant = false,
      renew = "auto",
      renewal: { t1, t2 } = {},
      timeoutMs,
    } = options;
    const settings = { key, holder, ttlMs, waitMs, reentrant, renew, t1, t2, timeoutMs };
    const machine = checked(() => Holder.acquire(settings));
    return new Session(this.#around, machine, settings);
  }

  async #sought(session: Session, signal: AbortSignal | undefined): Promise<Lease> {
    const stop = onAbort(signal, (reason) => session.cancel(reason));
    try {
      return await this.#settled(session.start());
    } finally {
      stop();
    }
  }

  /** A lease that was handed over for nobody. */
  async #takeBack(handle: LeaseHandle): Promise<void> {
    try {
      await (await this.resume(handle)).release();
    } catch {
      // Gone, or left to its term.
    }
  }

  /**
   * Whoever waited for us finds leases lost meanwhile as lost, before going on, and the stack of an
   * error shows who that is.
   */
  async #settled<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (error) {
      throw withStack(error);
    } finally {
      this.#look();
    }
  }

  #look(): void {
    const { held } = this.#around;
    for (const session of [...held]) {
      if (!LEASES_BELONG_TO_REQUESTS) {
        session.look();
      } else if (session.isOverdue) {
        // Its request may have been cut off: nobody else would let go of it.
        held.delete(session);
      }
    }
  }

  /** Makes one attempt at a request that belongs to no lease of ours. */
  async #ask(
    make: (key: string) => Send,
    key: string,
    options: CallLimits | undefined,
  ): Promise<WireResponse> {
    this.#assertOpen();
    argument("key", KEY, key);
    const { host, clock } = this.#around;
    const { signal: caller, timeoutMs: most } = optionsOf(LIMITS, options);
    const { request, timeoutMs: usual, rebind } = checked(() => make(key));
    const timeoutMs = most ?? usual;
    const controller = new AbortController();
    const { signal } = controller;
    const begin = () => ask(host, request, { signal, timeoutMs, rebind });
    const limits = { timeoutMs, ...(caller && { signal: caller }) };
    const late = () => {
      throw new BackendError("No answer came in time.");
    };
    try {
      const answer = await this.#settled(limited(begin, limits, clock, late));
      const refusal = asRefusal(answer);
      if (refusal !== undefined) {
        throw toLeaseError(refusal, { key });
      }
      return answer;
    } catch (error) {
      if (!BackendError.is(error)) throw error;
      const { verdict = NO_ANSWER } = error;
      throw toLeaseError(verdict, { key, cause: error });
    } finally {
      guarded(() => controller.abort());
    }
  }
}

const NO_ANSWER = { code: "UNAVAILABLE", reason: "no-answer" } as const;

const REFUSALS: readonly unknown[] = ["DENIED", "INVALID", "UNAVAILABLE"];

function asRefusal(answer: WireResponse): Failure | undefined {
  const { outcome, code, reason, message, retryAfterMs } = answer;
  const isRefusal = outcome === "refused" && REFUSALS.includes(code) && typeof reason === "string";
  return isRefusal ? { code: code as Failure["code"], reason, message, retryAfterMs } : undefined;
}

function unreadable(key: string): LeaseError {
  return toLeaseError({ code: "UNAVAILABLE", reason: "unreadable-answer" }, { key });
}

/** Has the invocation wait. A `waitUntil` that has lost its context is as good as none given. */
function outlive(given: LeaseClientOptions["waitUntil"], promise: Promise<unknown>): void {
  guarded(() => {
    try {
      (given ?? ambientWaitUntil)?.(promise);
    } catch (error) {
      if (given === undefined) return; // Outside a request there is nothing to outlive.
      if (ambientWaitUntil === undefined) throw error;
      ambientWaitUntil(promise);
    }
  });
}
