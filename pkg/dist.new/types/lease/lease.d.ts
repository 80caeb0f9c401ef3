/// <reference lib="esnext.disposable" preserve="true" />
import type { LeaseEventMap } from "./events.js";
import type { LeaseHandle } from "./handle.js";
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
export declare class Lease extends EventTarget implements AsyncDisposable {
    #private;
    private constructor();
    /** What is leased. */
    get key(): string;
    /** The name that it is held under. */
    get holder(): string;
    /** The grant's id and credential. Secret: whoever knows it can act on the lease. */
    get id(): string;
    /**
     * A number higher than that of any earlier grant of this key. A resource that refuses a lower
     * one than the highest it has seen is never written by a stale holder.
     */
    get fence(): bigint;
    /**
     * Aborts once, at the latest before the term ends, with a `LOST` {@link LeaseError} as its
     * reason. Not aborted by a release or transfer.
     */
    get signal(): AbortSignal;
    /** Whether the lease can be trusted now. */
    get held(): boolean;
    /** Where the lease stands now. A detached lease is held until its term ends. */
    get state(): LeaseState;
    /** How long the lease can be trusted from now on, in milliseconds; 0 once it is not held. */
    remainingMs(): number;
    /**
     * Throws unless the lease can be trusted now, by the clock alone.
     *
     * On Workers the clock stands still between two I/O operations, so call it right after one, or
     * use `verify()`.
     *
     * @throws LeaseError `LOST`.
     */
    check(): void;
    /**
     * Asks the host whether the lease is still held, then checks.
     *
     * @throws LeaseError `LOST`; `UNAVAILABLE` if the host gave no answer, in which case the lease
     * may still be held.
     */
    verify(): Promise<void>;
    /**
     * Sets the term anew, now. Calls made while a renewal is under way share the next one.
     *
     * @param options.ttlMs - Length of this and all later terms, in milliseconds.
     * @throws LeaseError `LOST`; `INVALID`; `UNAVAILABLE` or `DENIED`, in which case the lease is as
     * valid as before.
     */
    renew(options?: {
        readonly ttlMs?: number;
    }): Promise<void>;
    /**
     * Gives the lease back. It is not held from the call on. Happens once, however often it is
     * called, and never rejects: a lease that is gone is none to give back.
     */
    release(): Promise<ReleaseResult>;
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
    transfer(toHolder: string, options?: {
        readonly ttlMs?: number;
    }): Promise<LeaseHandle>;
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
    detach(): LeaseHandle;
    /** The lease as plain data. Contains its credential. */
    toJSON(): LeaseHandle;
    /** Releases the lease, unless it was detached or handed over. Never rejects. */
    [Symbol.asyncDispose](): Promise<void>;
    addEventListener<T extends keyof LeaseEventMap>(type: T, listener: ((event: LeaseEventMap[T]) => void) | null, options?: ListenerOptions | boolean): void;
    addEventListener(type: string, listener: any, options?: any): void;
    removeEventListener<T extends keyof LeaseEventMap>(type: T, listener: ((event: LeaseEventMap[T]) => void) | null, options?: {
        readonly capture?: boolean;
    } | boolean): void;
    removeEventListener(type: string, listener: any, options?: any): void;
}
/** How to listen. */
export interface ListenerOptions {
    readonly capture?: boolean;
    readonly once?: boolean;
    readonly passive?: boolean;
    readonly signal?: AbortSignal;
}
