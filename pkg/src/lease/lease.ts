/// <reference lib="esnext.disposable" preserve="true" />

import { HOLDER, LIMITS, TERM, type TermOptions } from "./arguments.js";
import { argument, optionsOf } from "./check.js";
import { invalid, unattended, withStack } from "./errors.js";
import type { LeaseEventMap } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import type { Session } from "./session.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import type { CallLimits } from "./waiting.js";

/** What may be known of a lease by anybody: it opens nothing. */
export interface LeaseSummary {
  readonly key: string;
  /** The fence, in decimal. */
  readonly fence: string;
  readonly state: LeaseState;
  readonly remainingMs: number;
}

/**
 * An exclusive right over a key for a limited term, renewed while the work lasts.
 *
 * Whether it is held is worked out from the clock at each read, conservatively: a lease that
 * shows as held is held, whatever the network does. Three tools, from weak to strong: `signal`
 * is a notification, `check()` a predicate, `fence` a guarantee where the resource checks it.
 *
 * Dispatches the events of {@link LeaseEventMap}.
 */
export class Lease extends EventTarget implements AsyncDisposable {
  readonly #session: Session;

  private constructor(session: Session) {
    super();
    this.#session = session;
    // Cloned or posted, it would arrive as an empty object without a word.
    Object.defineProperty(this, "notCloneable", { enumerable: true, get: refuseClone });
  }

  /** @internal */
  static open(session: Session): Lease {
    return new Lease(session);
  }

  /** What is leased. */
  get key(): string {
    return this.#session.key;
  }

  /** The name that it is held under. */
  get holder(): string {
    return this.#session.holder;
  }

  /**
   * A number higher than that of any earlier grant of this key. A resource that refuses a lower
   * one than the highest it has seen is never written by a stale holder.
   */
  get fence(): bigint {
    return this.#session.fence;
  }

  /**
   * Aborts once, at the latest before the term ends, with a `LOST` {@link LeaseError} as its
   * reason. Not aborted by a release or transfer.
   */
  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** Whether the lease can be trusted now. */
  get held(): boolean {
    return this.#session.isHeld;
  }

  /** Where the lease stands now. A detached lease is held until its term ends. */
  get state(): LeaseState {
    return this.#session.state;
  }

  /** How long the lease can be trusted from now on, in milliseconds; 0 once it is not held. */
  remainingMs(): number {
    return this.#session.remainingMs();
  }

  /**
   * Throws unless the lease can be trusted now, by the clock alone.
   *
   * On Workers the clock stands still between two I/O operations, so call it right after one, or
   * use `verify()`.
   *
   * @throws LeaseError `LOST`.
   */
  check(): void {
    const why = this.#session.notHeld();
    if (why !== undefined) {
      throw withStack(why);
    }
  }

  /**
   * Asks the host whether the lease is still held, then checks.
   *
   * @throws LeaseError `LOST`; `UNAVAILABLE` if the host gave no answer, in which case the lease
   * may still be held; or the reason of `options.signal`.
   */
  verify(options?: CallLimits): Promise<void> {
    return unattended(this.verify, async () => {
      await this.#session.verify(optionsOf(LIMITS, options));
    });
  }

  /**
   * Sets the term anew, now. Calls made while a renewal is under way share the next one.
   *
   * @param options.ttlMs - Length of this and all later terms, in milliseconds.
   * @throws LeaseError `LOST`; `INVALID`; `UNAVAILABLE` or `DENIED`, in which case the lease is as
   * valid as before; or the reason of `options.signal`.
   */
  renew(options?: TermOptions): Promise<void> {
    return unattended(this.renew, async () => {
      const { ttlMs, ...limits } = optionsOf(TERM, options);
      await this.#session.renew(ttlMs, limits);
    });
  }

  /**
   * Gives the lease back. It is not held from the call on. Happens once, however often it is
   * called, and never rejects for what the host does: a lease that is gone is none to give back.
   * Signal and time limit end the waiting for the host's word, which then is `unconfirmed`.
   */
  async release(options?: CallLimits): Promise<ReleaseResult> {
    const released = this.#session.release();
    return await this.#session.confirmed(released, optionsOf(LIMITS, options));
  }

  /**
   * Hands the lease over in one step of the host, under a new id and a higher fence: the key is
   * never free in between. It is not held here from the call on; if the host refuses, it is held
   * again.
   *
   * @param toHolder - The successor's name.
   * @param options.ttlMs - Length of the successor's first term; this lease's by default.
   * @returns What the successor resumes the lease with.
   * @throws LeaseError `LOST`; `INVALID`; `DENIED`; `UNAVAILABLE` if the host gave no answer, in
   * which case the lease is lost here; or the reason of `options.signal`. What the host hands over
   * after the waiting has ended is taken back in the background.
   */
  transfer(toHolder: string, options?: TermOptions): Promise<LeaseHandle> {
    return unattended(this.transfer, async () => {
      argument("toHolder", HOLDER, toHolder);
      const { ttlMs, ...limits } = optionsOf(TERM, options);
      return await this.#session.transfer(toHolder, ttlMs, limits);
    });
  }

  /**
   * Stops renewing and leaves the lease to whoever resumes it. Unless somebody does, it is held
   * here, and at the host, until its term ends. Disposing of a detached lease does not release it.
   *
   * Stop the guarded work before passing the handle on: once somebody has resumed it, this lease is
   * fenced out, and its clock does not show it; `verify()` would.
   *
   * @returns What to resume the lease with. Contains its credential.
   * @throws LeaseError `LOST`.
   */
  detach(): LeaseHandle {
    return this.#session.detach();
  }

  /** What may be logged. What the lease can be carried on with is only had from `detach()`. */
  toJSON(): LeaseSummary {
    const { key, fence, state } = this;
    return { key, fence: String(fence), state, remainingMs: this.remainingMs() };
  }

  /** Releases the lease, unless it was detached or handed over. Never rejects. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.state !== "detached") {
      await this.release();
    }
  }

  override addEventListener<T extends keyof LeaseEventMap>(
    type: T,
    listener: ((event: LeaseEventMap[T]) => void) | null,
    options?: ListenerOptions | boolean,
  ): void;
  // The runtimes' types differ in what they call a listener: `any` fits them all.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  override addEventListener(type: string, listener: any, options?: any): void;
  override addEventListener(...listening: Parameters<EventTarget["addEventListener"]>): void {
    super.addEventListener(...listening);
  }

  override removeEventListener<T extends keyof LeaseEventMap>(
    type: T,
    listener: ((event: LeaseEventMap[T]) => void) | null,
    options?: { readonly capture?: boolean } | boolean,
  ): void;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  override removeEventListener(type: string, listener: any, options?: any): void;
  override removeEventListener(...listening: Parameters<EventTarget["removeEventListener"]>): void {
    super.removeEventListener(...listening);
  }
}

/** How to listen. */
export interface ListenerOptions {
  readonly capture?: boolean;
  readonly once?: boolean;
  readonly passive?: boolean;
  readonly signal?: AbortSignal;
}

function refuseClone(): never {
  throw invalid("lease", "can't be cloned or posted: pass what lease.detach() returns");
}
