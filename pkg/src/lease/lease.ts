/// <reference lib="esnext.disposable" preserve="true" />

import type { LeaseEventMap } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import type { Session } from "./session.js";
import type { LeaseState, ReleaseResult } from "./state.js";

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

  /** The grant's id and credential. Secret: whoever knows it can act on the lease. */
  get id(): string {
    return this.#session.id;
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
      throw why;
    }
  }

  /**
   * Asks the host whether the lease is still held, then checks.
   *
   * @throws LeaseError `LOST`; `UNAVAILABLE` if the host gave no answer, in which case the lease
   * may still be held.
   */
  verify(): Promise<void> {
    return this.#session.verify();
  }

  /**
   * Sets the term anew, now. Calls made while a renewal is under way share the next one.
   *
   * @param options.ttlMs - Length of this and all later terms, in milliseconds.
   * @throws LeaseError `LOST`; `INVALID`; `UNAVAILABLE` or `DENIED`, in which case the lease is as
   * valid as before.
   */
  renew(options: { readonly ttlMs?: number } = {}): Promise<void> {
    return this.#session.renew(options.ttlMs);
  }

  /**
   * Gives the lease back. It is not held from the call on. Happens once, however often it is
   * called, and never rejects: a lease that is gone is none to give back.
   */
  release(): Promise<ReleaseResult> {
    return this.#session.release();
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
   * which case the lease is lost here.
   */
  transfer(toHolder: string, options: { readonly ttlMs?: number } = {}): Promise<LeaseHandle> {
    const { ttlMs = this.#session.ttlMs } = options;
    return this.#session.transfer(toHolder, ttlMs);
  }

  /**
   * Stops renewing and leaves the lease to whoever resumes it. Unless somebody does, it is held
   * here, and at the host, until its term ends. Disposing of a detached lease does not release it.
   *
   * Stop the guarded work before passing the handle on: once somebody has resumed it, this lease is
   * fenced out, and its clock does not show it; `verify()` would.
   *
   * @returns What to resume the lease with.
   * @throws LeaseError `LOST`.
   */
  detach(): LeaseHandle {
    this.#session.detach();
    return this.toJSON();
  }

  /** The lease as plain data. Contains its credential. */
  toJSON(): LeaseHandle {
    const { key, holder, id, fence, ttlMs } = this.#session;
    return { v: 1, key, holder, id, fence: String(fence), ttlMs };
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
