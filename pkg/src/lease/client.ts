import { Holder, inspect, revoke } from "#client-wasm";
import { acquireAll, type LeaseSet } from "../coordination/lease-set.js";
import type { LeaseBackend, WireResponse } from "./backend.js";
import { type Clock, systemClock } from "./clock.js";
import { closeAll, closed } from "./close.js";
import { BackendError, checked, type Failure, LeaseError, toLeaseError } from "./errors.js";
import type { LeaseEvent } from "./events.js";
import { type LeaseHandle, parseHandle } from "./handle.js";
import type { Lease } from "./lease.js";
import type { Released } from "./released.js";
import { type RunArguments, run } from "./run.js";
import { guarded, Session, type Surroundings } from "./session.js";
import type { Send } from "./step.js";

const DEFAULT_TTL_MS = 30_000;
const DEFAULT_WAIT_MS = 10_000;

/**
 * On Workers whatever a request has made may be touched by that request alone, and a client may
 * serve many. Each lease there is looked at by its own timer and by whoever reads it.
 */
const LEASES_BELONG_TO_REQUESTS = globalThis.navigator?.userAgent === "Cloudflare-Workers";

/** How a client goes about it. */
export interface LeaseClientOptions {
  /** The name to hold leases under. Random by default, one per client. Not a secret. */
  readonly holder?: string;
  /**
   * Keeps the invocation alive until a promise settles, such as `ctx.waitUntil` of a Worker. It
   * is given what has to outlive the handler: releases, and the taking back of grants.
   */
  readonly waitUntil?: (promise: Promise<unknown>) => void;
  /** The time and timers; the runtime's own by default. */
  readonly clock?: Clock;
  /** Length of a term in milliseconds unless `acquire` says otherwise: 100 to 86 400 000; 30 000 by default. */
  readonly ttlMs?: number;
  /** How long to wait for a grant, in milliseconds, unless `acquire` says otherwise; 10 000 by default. */
  readonly waitMs?: number;
  /** Is told of everything that happens to the client's leases. What it throws goes to the console. */
  readonly onEvent?: (event: LeaseEvent) => void;
  /**
   * Whether a held lease keeps a Node, Deno or Bun process alive that has nothing else to do.
   * False by default: the lease then ends with its term.
   */
  readonly keepProcessAlive?: boolean;
}

/** How a lease is to be had. */
export interface AcquireOptions {
  /** Length of a term in milliseconds: 100 to 86 400 000. */
  readonly ttlMs?: number;
  /** How long to wait for the grant, in milliseconds: 0 to 86 400 000. 0 asks exactly once. */
  readonly waitMs?: number;
  /** Cancels the waiting, and only that. A lease once granted is not affected. */
  readonly signal?: AbortSignal;
  /** The name to hold it under, instead of the client's. */
  readonly holder?: string;
  /**
   * Whether a lease that the same holder has already is answered with that lease. Whoever shares a
   * lease so is one holder: what one of them ends has ended for all.
   */
  readonly reentrant?: boolean;
  /** `auto` renews while the lease is held; `manual` only when told. `auto` by default. */
  readonly renew?: "auto" | "manual";
  /**
   * When to renew, as parts of the term: from `t1` on (a third by default), and from `t2` on over
   * a rebuilt way to the host.
   */
  readonly renewal?: { readonly t1?: number; readonly t2?: number };
}

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

  constructor(host: LeaseBackend, options: LeaseClientOptions = {}) {
    this.#options = options;
    this.#holder = options.holder;
    this.#around = {
      host,
      clock: options.clock ?? systemClock,
      keepProcessAlive: options.keepProcessAlive ?? false,
      held: new Set(),
      open: LEASES_BELONG_TO_REQUESTS ? undefined : new Set(),
      waitUntil: (promise) => guarded(() => options.waitUntil?.(promise)),
      tell: (event) => guarded(() => options.onEvent?.(event)),
    };
  }

  /**
   * Waits for a lease.
   *
   * @throws LeaseError `HELD` if another has it and `waitMs` is 0; `TIMEOUT` if the wait ran out;
   * `UNAVAILABLE`, `DENIED`, `INVALID`. If `options.signal` aborts, its reason instead, at once;
   * whatever the host granted meanwhile is taken back in the background.
   */
  async acquire(key: string, options: AcquireOptions = {}): Promise<Lease> {
    const { signal } = options;
    const session = this.#open(key, options);
    if (signal === undefined) {
      return await this.#settled(session.start());
    }
    if (signal.aborted) {
      session.cancel(signal.reason);
      throw signal.reason;
    }
    const abort = () => session.cancel(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await this.#settled(session.start());
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /**
   * Asks for a lease exactly once; `waitMs` is of no account.
   *
   * @returns The lease, or undefined when another holder has the key.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async tryAcquire(key: string, options: AcquireOptions = {}): Promise<Lease | undefined> {
    try {
      return await this.acquire(key, { ...options, waitMs: 0 });
    } catch (error) {
      if (error instanceof LeaseError && error.code === "HELD") {
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
  async acquireAll(keys: readonly string[], options: AcquireOptions = {}): Promise<LeaseSet> {
    const waitMs = options.waitMs ?? this.#options.waitMs ?? DEFAULT_WAIT_MS;
    return await acquireAll(this, keys, { ...options, waitMs }, this.#around.clock);
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
  async resume(handle: LeaseHandle): Promise<Lease> {
    this.#assertOpen();
    const { id, fence, key, holder, ttlMs } = parseHandle(handle);
    const machine = checked(() =>
      Holder.resume({ key, holder, ttlMs, waitMs: 0, reentrant: false, renew: "auto" }, id, fence),
    );
    return await this.#settled(new Session(this.#around, machine, { key, holder, ttlMs }).start());
  }

  /**
   * Asks the host who holds a key.
   *
   * @returns Undefined if nobody does.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`.
   */
  async inspect(key: string): Promise<LeaseInfo | undefined> {
    const answer = await this.#settled(this.#ask(checked(() => inspect(key))));
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
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`.
   */
  async revoke(key: string): Promise<boolean> {
    const answer = await this.#settled(this.#ask(checked(() => revoke(key))));
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
   * short, rejects with `INVALID`, reason `closed`. Never rejects itself, and happens once.
   *
   * On Workers only the held leases are ended: a wait ends with its request.
   *
   * @param options.timeoutMs - How long to wait for the host's word, in milliseconds; a release is
   * given up by itself after 5 000.
   * @returns The keys that the host has back, and those of which it has not said so.
   */
  close(options: { readonly timeoutMs?: number } = {}): Promise<Released> {
    const { held, open = held, clock } = this.#around;
    this.#closing ??= closeAll(open, clock, options.timeoutMs);
    return this.#closing;
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
    } = options;
    const settings = { key, holder, ttlMs, waitMs, reentrant, renew, t1, t2 };
    const machine = checked(() => Holder.acquire(settings));
    return new Session(this.#around, machine, settings);
  }

  /** Whoever waited for us finds leases lost meanwhile as lost, before going on. */
  async #settled<T>(promise: Promise<T>): Promise<T> {
    try {
      return await promise;
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
  async #ask({ request, timeoutMs, rebind }: Send): Promise<WireResponse> {
    this.#assertOpen();
    const { host, clock } = this.#around;
    const { key } = request;
    const attempt = new AbortController();
    const { signal } = attempt;
    let timer: unknown;
    try {
      const answer = await new Promise<WireResponse>((resolve, reject) => {
        timer = clock.setTimeout(() => {
          reject(new BackendError("No answer in time.", { delivery: "unknown" }));
        }, timeoutMs);
        host.call(request, { signal, timeoutMs, rebind }).then(resolve, reject);
      });
      const refusal = asRefusal(answer);
      if (refusal !== undefined) {
        throw toLeaseError(refusal, { key });
      }
      return answer ?? {};
    } catch (cause) {
      if (cause instanceof LeaseError) {
        throw cause;
      }
      const failure = { code: "UNAVAILABLE", reason: "no-answer" } as const;
      throw toLeaseError(failure, { key, cause });
    } finally {
      clock.clearTimeout(timer);
      guarded(() => attempt.abort());
    }
  }
}

const REFUSALS: readonly unknown[] = ["DENIED", "INVALID", "UNAVAILABLE"];

function asRefusal(answer: WireResponse): Failure | undefined {
  const { outcome, code, reason, message, retryAfterMs } = answer ?? {};
  const isRefusal = outcome === "refused" && REFUSALS.includes(code) && typeof reason === "string";
  return isRefusal ? { code: code as Failure["code"], reason, message, retryAfterMs } : undefined;
}

function unreadable(key: string): LeaseError {
  return toLeaseError({ code: "UNAVAILABLE", reason: "unreadable-answer" }, { key });
}
