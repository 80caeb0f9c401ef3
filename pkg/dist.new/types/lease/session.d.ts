import type { Holder } from "#client-wasm";
import type { LeaseBackend } from "./backend.js";
import { type Clock } from "./clock.js";
import { LeaseError } from "./errors.js";
import { type LeaseEvent } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import { Lease } from "./lease.js";
import type { LeaseState, ReleaseResult } from "./state.js";
/** What all sessions of a client share. */
export interface Surroundings {
    readonly host: LeaseBackend;
    readonly clock: Clock;
    readonly keepProcessAlive: boolean;
    /** Sessions with a lease that is held or detached. */
    readonly held: Set<Session>;
    /** Sessions with something under way, or a lease; nothing where leases belong to requests. */
    readonly open: Set<Session> | undefined;
    /** Keeps the invocation alive until the promise settles. */
    waitUntil(promise: Promise<unknown>): void;
    /** Tells the client's owner. Never throws. */
    tell(event: LeaseEvent): void;
}
/**
 * Drives the machine of one lease, from the first attempt to its end: makes the attempts it asks
 * for, keeps its one timer, and turns its events into promises settled and people told.
 *
 * In each step the state changes first, and code of others runs last: whatever it reads or calls
 * then, it finds the lease as it is.
 */
export declare class Session {
    #private;
    readonly key: string;
    readonly holder: string;
    constructor(around: Surroundings, machine: Holder, lease: {
        readonly key: string;
        readonly holder: string;
        readonly ttlMs: number;
    });
    /** Sends the first attempt. The promise is of the lease. */
    start(): Promise<Lease>;
    /** Stops waiting for the grant; what the host gave meanwhile is taken back. */
    cancel(reason: unknown): void;
    /** Whether there is a lease that a client which closes has to give back, or is giving back. */
    get hasToRelease(): boolean;
    /** Stops waiting, or gives the lease back unless it is detached; waits until all is through. */
    close(reason: unknown): Promise<ReleaseResult>;
    /** Looks at the clock: a lease whose term is over is lost from here on. */
    look(): void;
    /** Whether the lease is held, not detached, and its term not over. Changes nothing. */
    get isTrusted(): boolean;
    /** Whether the term is over without anybody having looked. Changes nothing. */
    get isOverdue(): boolean;
    get ttlMs(): number;
    get lease(): Lease | undefined;
    get id(): string;
    get fence(): bigint;
    get signal(): AbortSignal;
    get state(): LeaseState;
    get isHeld(): boolean;
    remainingMs(): number;
    /** The reason why the lease is not held, or nothing while it is. */
    notHeld(): LeaseError | undefined;
    renew(ttlMs: number | undefined): Promise<void>;
    verify(): Promise<void>;
    transfer(toHolder: string, ttlMs: number): Promise<LeaseHandle>;
    detach(): void;
    release(): Promise<ReleaseResult>;
}
/** Runs code of others, whose exceptions are not ours to die of. */
export declare function guarded(call: () => void): void;
