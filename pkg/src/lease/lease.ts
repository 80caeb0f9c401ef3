/// <reference lib="esnext.disposable" preserve="true" />

import {
  ENTRY_NAME,
  FINISH,
  type FinishOptions,
  HOLDER,
  LIMITS,
  TERM,
  type TermOptions,
  VALUE,
} from "./arguments.js";
import { argument, optionsOf } from "./check.js";
import { invalid, unattended, withStack } from "./errors.js";
import type { LeaseEventMap } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import type { Json } from "./json.js";
import type { Session } from "./session.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import type { CallLimits } from "./waiting.js";

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** What may be known of a lease by anybody: it opens nothing. */
export interface LeaseSummary {
  readonly key: string;
  /** The fence, in decimal. */
  readonly fence: string;
  readonly slot: number;
  readonly state: LeaseState;
  readonly remainingMs: number;
}

/**
 * A right over a key for a limited term, alone or with as many others as its limit allows, renewed
 * while the work lasts.
 *
 * Whether it is held is worked out from the clock at each read, conservatively: a lease that
 * shows as held is held, whatever the network does. Three tools, from weak to strong: `signal`
 * is a notification, `check()` a predicate, `fence` a guarantee where the resource checks it.
 *
 * Dispatches the events of {@link LeaseEventMap}.
 */
export class Lease extends EventTarget implements AsyncDisposable {
  readonly #session: Session;
  /** Whether it is given back while another lease of its grant is not. */
  #isReturned = false;

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
   * one than the highest it has seen is never written by a stale holder. With a limit above 1 that
   * is so for each `slot` by itself.
   */
  get fence(): bigint {
    return this.#session.fence;
  }

  /** The place among the key's holders, from 0: 0 for whoever holds it alone. */
  get slot(): number {
    return this.#session.slot;
  }

  /** How many waited for the key when the host last answered: reason enough to yield it early. */
  get wanted(): number {
    return this.#session.wanted;
  }

  /**
   * Aborts once, at the latest before the term ends, with a `LOST` {@link LeaseError} as its
   * reason. Not aborted by a release, a transfer or, before the term ends, `detach()`.
   */
  get signal(): AbortSignal {
    return this.#session.signal;
  }

  /** Whether the lease can be trusted now. */
  get held(): boolean {
    return !this.#isReturned && this.#session.isHeld;
  }

  /** Where the lease stands now. A detached lease is not held; it is `lost` when its term has ended. */
  get state(): LeaseState {
    return this.#isReturned ? "released" : this.#session.state;
  }

  /** How long the lease can be trusted from now on, in milliseconds; 0 once it is not held. */
  remainingMs(): number {
    return this.#isReturned ? 0 : this.#session.remainingMs();
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
    const why = this.#isReturned ? this.#session.lost("released") : this.#session.notHeld();
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
      const limits = optionsOf(LIMITS, options);
      this.check();
      await this.#session.verify(limits);
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
      this.check();
      await this.#session.renew(ttlMs, limits);
    });
  }

  /**
   * Gives the lease back. It is not held from the call on. Happens once, however often it is
   * called, and never rejects for what the host does: a lease that is gone is none to give back.
   * Signal and time limit end the waiting for the host's word, which then is `unconfirmed`.
   *
   * One that is shared by re-entry is given back to the host with the last; the result of the others
   * has the reason `reentered`.
   */
  release(options?: CallLimits): Promise<ReleaseResult> {
    return unattended(this.release, async () => {
      const limits = optionsOf(LIMITS, options);
      this.#isReturned ||= this.#session.unshare(this);
      const released = this.#isReturned ? REENTERED : this.#session.release();
      return await this.#session.confirmed(released, limits);
    });
  }

  /**
   * Sets an entry of the grant, for whoever looks at the key: it ends with the grant, and moves with
   * a transfer. Entries are set one after the other, in the order of the calls.
   *
   * @param name - 1 to 128 bytes in UTF-8.
   * @param value - 4 096 bytes as JSON at most. There are 64 entries of a grant, and 65 536 bytes of
   * a key's, at most.
   * @throws LeaseError `LOST`; `INVALID`; `DENIED` or `UNAVAILABLE`, in which case it may have been
   * set; or the reason of `options.signal`.
   */
  setEntry(name: string, value: Json, options?: CallLimits): Promise<void> {
    return unattended(this.setEntry, async () => {
      argument("name", ENTRY_NAME, name);
      const json = argument("value", VALUE, value) as string;
      const limits = optionsOf(LIMITS, options);
      this.check();
      await this.#session.setEntry(name, json, limits);
    });
  }

  /**
   * Deletes an entry of the grant, if there is one of that name.
   *
   * @throws What `setEntry` throws.
   */
  deleteEntry(name: string, options?: CallLimits): Promise<void> {
    return unattended(this.deleteEntry, async () => {
      argument("name", ENTRY_NAME, name);
      const limits = optionsOf(LIMITS, options);
      this.check();
      await this.#session.setEntry(name, undefined, limits);
    });
  }

  /**
   * Ends the lease with a result: the key's work is done for `keepMs`, and whoever asks for the key
   * meanwhile gets `DONE`, and by `runOnce` the result. For leases of limit 1. It is not held from
   * the call on; if the host refuses, it is held again.
   *
   * @throws LeaseError `LOST`; `INVALID`; `DENIED`; `UNAVAILABLE` if the host gave no answer, in
   * which case the lease is lost here, and the work may be done; or the reason of `options.signal`.
   */
  finish(options: FinishOptions): Promise<void> {
    return unattended(this.finish, async () => {
      const { result = "null", keepMs, ...limits } = optionsOf(FINISH, options);
      this.check();
      await this.#session.finish(result as string, keepMs, limits);
    });
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
      this.check();
      return await this.#session.transfer(toHolder, limits, ttlMs);
    });
  }

  /**
   * Leaves the lease to whoever resumes it. Unless somebody does, the host keeps the key until the
   * term ends. It is not held here from the call on, so stop the guarded work before: `check()` and
   * all else throws `LOST`, reason `detached`. Only `release()` still gives it back, if nobody has
   * resumed it; disposing of it does not.
   *
   * @returns What to resume the lease with. Contains its credential.
   * @throws LeaseError `LOST`.
   */
  detach(): LeaseHandle {
    this.check();
    return this.#session.detach();
  }

  /** What may be logged. What the lease can be carried on with is only had from `detach()`. */
  toJSON(): LeaseSummary {
    const { key, fence, slot, state } = this;
    return { key, fence: String(fence), slot, state, remainingMs: this.remainingMs() };
  }

  /** What Node, Deno and Bun print of it. */
  [INSPECT](_depth: number, options: object, inspect: (value: object, options: object) => string) {
    return `Lease ${inspect(this.toJSON(), options)}`;
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

const REENTERED = Promise.resolve({ released: false, reason: "reentered" });

function refuseClone(): never {
  throw invalid("lease", "can't be copied, cloned or posted: pass what lease.detach() returns");
}
