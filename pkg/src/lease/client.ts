import { Holder } from "#client-wasm";
import { acquireAll, type LeaseSet } from "../coordination/lease-set.js";
import {
  ACQUIRE,
  type AcquireOptions,
  CLIENT,
  CLOSE,
  KEY,
  type LeaseClientOptions,
  LIMITS,
  type ListOptions,
  limitOf,
  type NamedOptions,
  REVOKE,
  type RevokeOptions,
  RUN_ONCE,
  type RunOnceOptions,
  type WatchOptions,
} from "./arguments.js";
import type { LeaseBackend, WireResponse } from "./backend.js";
import { LEASES_BELONG_TO_REQUESTS } from "./belonging.js";
import { callListener } from "./call-listener.js";
import { argument, callback, optionsOf } from "./check.js";
import { systemClock } from "./clock.js";
import { closed, type Ending, endAll, endedWithin } from "./close.js";
import { invalid, LeaseError, withStack } from "./errors.js";
import { type LeaseHandle, parseHandle } from "./handle.js";
import { isFree, type KeyState, keyStateOf } from "./key-state.js";
import type { Lease } from "./lease.js";
import { NamedLeases } from "./named.js";
import { type Question, Questions, unreadable } from "./questions.js";
import { randomId } from "./random-id.js";
import { backendOf } from "./recognise.js";
import type { Released } from "./released.js";
import { type RunArguments, run } from "./run.js";
import { type Kept, type Result, runOnce } from "./run-once.js";
import { type Environment, Session } from "./session.js";
import type { ReleaseResult } from "./state.js";
import { ambientWaitUntil } from "./wait-until.js";
import { type CallLimits, onAbort } from "./waiting.js";
import { list, watch } from "./watch.js";

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 10_000;

/** Acquires leases from one host. */
export class LeaseClient implements AsyncDisposable {
  readonly #env: Environment;
  readonly #options: LeaseClientOptions;
  readonly #questions: Questions;
  #holder: string | undefined;
  #endings: readonly Ending[] | undefined;

  /**
   * @param backend - What decides who holds a key: such as `durableObject(env.LEASES)`.
   * @throws LeaseError `INVALID` for anything else, and for a bad option.
   */
  constructor(backend: LeaseBackend, options?: LeaseClientOptions) {
    const host = backendOf(backend);
    const settings = optionsOf(CLIENT, options);
    const { clock = systemClock, keepProcessAlive = false, onEvent, waitUntil } = settings;
    this.#options = settings;
    // Now, when there is time: a process loads what draws it at the first use. Workers draw nothing
    // outside of a request.
    this.#holder = settings.holder ?? (LEASES_BELONG_TO_REQUESTS ? undefined : randomId());
    this.#questions = new Questions(host, clock, !LEASES_BELONG_TO_REQUESTS);
    this.#env = {
      host,
      clock,
      keepProcessAlive,
      held: new Set(),
      open: LEASES_BELONG_TO_REQUESTS ? undefined : new Set(),
      waitUntil: (promise) => keepAlive(waitUntil, promise),
      takeBack: async (handle) => {
        const back = this.#takeBack(handle);
        keepAlive(waitUntil, back);
        return await back;
      },
      tell: (event) => callListener(() => onEvent?.(event)),
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
   * Has work done once, by whoever gets the lease first: its result is kept for `keepMs`, and
   * whoever asks meanwhile, or waits already, gets the result instead of running `fn`.
   *
   * `fn` may start more than once: if it throws, or if who ran it is gone, the next one runs it. One
   * result is kept, and everybody gets what JSON makes of it, whoever ran `fn` included.
   *
   * @returns The result: `null` where `fn` returned nothing.
   * @throws What `fn` threw; LeaseError `LOST` if the lease was lost before the result was kept, or
   * `UNAVAILABLE` if that can't be told; `INVALID` for a result that is no JSON or takes more than
   * 8 192 bytes; what `acquire` throws.
   */
  async runOnce<T extends Result>(
    key: string,
    options: RunOnceOptions,
    fn: (lease: Lease) => T | Promise<T>,
  ): Promise<Kept<T>> {
    argument("fn", callback, fn);
    const { keepMs, fingerprint, ...acquire } = optionsOf(RUN_ONCE, options);
    return await runOnce(() => this.#acquire(key, acquire, fingerprint), keepMs, fn);
  }

  /**
   * Waits for a lease on each of several keys, and gets all of them or none. Whatever the order of
   * `keys`, they are asked for in one order, so that callers of `acquireAll` never wait for each
   * other in a circle. `waitMs`, `timeoutMs` and `signal` are those of the whole.
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
    return await acquireAll(this, keys, { ...rest, waitMs }, this.#env.clock);
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
    this.#questions.assertOpen();
    return await this.#resume(this.#env, handle, optionsOf(LIMITS, options));
  }

  /**
   * Asks the host for the state of a key.
   *
   * @returns Undefined if nobody holds it or waits for it, and its work is not done.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async inspect(key: string, options?: CallLimits): Promise<KeyState | undefined> {
    argument("key", KEY, key);
    const limits = optionsOf(LIMITS, options);
    const { state } = await this.#asked({ operation: "inspect", key }, limits);
    if (state === undefined) throw unreadable(key);
    const told = keyStateOf(state);
    return isFree(told) ? undefined : told;
  }

  /**
   * The states of a key, as they come about: the present one first, then each that differs. What
   * came and went in between may be left out; what still holds is told. Goes on until you leave the
   * loop or `options.signal` aborts, over failures that pass.
   *
   * A key of which the host knows nothing has the revision `"0"` and no holders.
   *
   * @throws LeaseError `INVALID` at once for a bad option. The iteration: `UNAVAILABLE` if the host
   * gives no answer for `options.timeoutMs`; `DENIED`, `INVALID`; the reason of `options.signal`.
   */
  watch(key: string, options?: WatchOptions): AsyncIterable<KeyState> {
    return watch(this.#questions, argument("key", KEY, key), options);
  }

  /**
   * The states of all keys that begin with a prefix, in the order of their names.
   *
   * @throws LeaseError `INVALID` at once for a bad option, and where `capabilities.list` of the
   * backend is not true. The iteration: `UNAVAILABLE`, `DENIED`, `INVALID`; the reason of
   * `options.signal`.
   */
  list(options?: ListOptions): AsyncIterable<KeyState> {
    return list(this.#questions, options);
  }

  /**
   * Ends all grants that a key has, and that its work is done. For operators: a holder learns of it
   * at its next renewal.
   *
   * @param options.fence - Only the grant with this fence.
   * @returns Whether there was something to end.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async revoke(key: string, options?: RevokeOptions): Promise<boolean> {
    argument("key", KEY, key);
    const { fence, ...limits } = optionsOf(REVOKE, options);
    const question = { operation: "revoke", key } as const;
    const meant = fence === undefined ? question : { ...question, fence: String(fence) };
    const { revoked } = await this.#asked(meant, limits);
    if (revoked === undefined) throw unreadable(key);
    return revoked > 0;
  }

  /**
   * Leases by their owners' names, for code that remembers nothing between two calls.
   *
   * @throws LeaseError `INVALID` for a bad secret.
   */
  named(options: NamedOptions): NamedLeases {
    return new NamedLeases(this.#questions, this.#options.ttlMs ?? DEFAULT_TTL_MS, options);
  }

  /** The leases of this client that are held now, those left out that were detached. */
  get heldLeases(): readonly Lease[] {
    return [...this.#env.held].flatMap(({ isTrusted, leases }) => (isTrusted ? [...leases] : []));
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
    const { held, open = held, clock } = this.#env;
    this.#questions.close(closed());
    this.#endings ??= endAll(open);
    return await endedWithin(this.#endings, clock, timeoutMs);
  }

  /** Closes the client. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #acquire(key: string, options: AcquireOptions, fingerprint?: string): Promise<Lease> {
    argument("key", KEY, key);
    this.#questions.assertOpen();
    this.#holder ??= randomId();
    const defaults = this.#options;
    const {
      holder = this.#holder,
      ttlMs = defaults.ttlMs ?? DEFAULT_TTL_MS,
      waitMs = defaults.waitMs ?? DEFAULT_WAIT_MS,
      renew = "auto",
      renewal: { t1, t2 } = {},
      reentrant = false,
      ...rest
    } = options;
    const { signal, steal, maxHoldMs, timeoutMs } = rest;
    const terms = { key, holder, ttlMs, limit: limitOf(rest), reentrant, renew, maxHoldMs };
    if (reentrant) {
      if (steal)
        throw invalid("steal", "can't be given together with reentrant: share it, or take it away");
      const own = [...this.#env.held].find((session) => session.isSharedBy(terms));
      if (own !== undefined) return shared(own, options);
    }
    const { renew: _, ...given } = terms;
    const machine = holderOf({
      ...given,
      ...{ waitMs, steal, fingerprint, timeoutMs },
      renews: renew === "auto",
      t1: thousandths(t1),
      t2: thousandths(t2),
    });
    return await this.#sought(new Session(this.#env, machine, terms), signal);
  }

  async #resume(env: Environment, handle: LeaseHandle, limits: CallLimits): Promise<Lease> {
    const { id: lease, fence, ...terms } = parseHandle(handle);
    const { signal, timeoutMs } = limits;
    const machine = holderOf({ ...terms, lease, fence, renews: true, timeoutMs });
    return await this.#sought(new Session(env, machine, terms), signal);
  }

  async #sought(session: Session, signal: AbortSignal | undefined): Promise<Lease> {
    const stop = onAbort(signal, (reason) => session.cancel(reason));
    try {
      return await this.#settled(session.start());
    } finally {
      stop();
    }
  }

  /** A lease that was handed over for nobody. Closing the client waits for that, and ends it not. */
  async #takeBack(handle: LeaseHandle): Promise<ReleaseResult> {
    try {
      const lease = await this.#resume({ ...this.#env, open: undefined }, handle, {});
      return await lease.release();
    } catch (error) {
      // Gone, or left to its term.
      return { released: false, reason: String((error as LeaseError).reason) };
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
    const { held } = this.#env;
    for (const session of [...held]) {
      if (!LEASES_BELONG_TO_REQUESTS) {
        session.look();
      } else if (session.isOverdue) {
        // Its request may have been cut off: nobody else would let go of it.
        held.delete(session);
      }
    }
  }

  async #asked(question: Question, limits: CallLimits): Promise<WireResponse> {
    return await this.#settled(this.#questions.ask(question, limits));
  }
}

/** Another lease of a grant, for who asks for nothing that the grant has not. */
function shared(session: Session, options: AcquireOptions): Lease {
  const { signal } = options;
  if (signal?.aborted) throw signal.reason;
  const name = session.differsIn(options);
  if (name !== undefined) {
    throw invalid(name, "must be left out, or be that of the lease which is shared by re-entry");
  }
  return session.share();
}

/** The machine for a lease: `bindings/client/src/settings.rs` has what can be set. */
function holderOf(settings: object): Holder {
  return new Holder(JSON.stringify({ ...settings, op: randomId(), toLease: randomId() }));
}

function thousandths(part: number | undefined): number | undefined {
  return part === undefined ? undefined : Math.trunc(part * 1_000);
}

/** Has the invocation wait. A `waitUntil` that has lost its context is as good as none given. */
function keepAlive(given: LeaseClientOptions["waitUntil"], promise: Promise<unknown>): void {
  callListener(() => {
    try {
      (given ?? ambientWaitUntil)?.(promise);
    } catch (error) {
      if (given === undefined) return; // Outside a request there is nothing to keep alive.
      if (ambientWaitUntil === undefined) throw error;
      ambientWaitUntil(promise);
    }
  });
}
