import type { AcquireOptions, LeaseClient } from "../lease/client.js";
import type { Clock } from "../lease/clock.js";
import type { Lease } from "../lease/lease.js";
import { type Released } from "../lease/released.js";
/**
 * Leases that are of use only together: with one signal, checked and released as one.
 *
 * Each has its own fence and ends by itself; the set is as good as the first of them to end.
 */
export declare class LeaseSet implements AsyncDisposable {
    #private;
    /** The leases, in the order of their keys. */
    readonly leases: readonly Lease[];
    /** Joins leases that are had already. */
    constructor(leases: readonly Lease[]);
    /** The lease on a key, for its fence; undefined if the set has none on it. */
    get(key: string): Lease | undefined;
    /** Aborts as soon as one of the leases is lost, for that lease's reason. Not by a release. */
    get signal(): AbortSignal;
    /** Whether every one of the leases can be trusted now. */
    get held(): boolean;
    /** How long all of them can be trusted from now on, in milliseconds; 0 once one is not held. */
    remainingMs(): number;
    /**
     * Throws unless every one of the leases can be trusted now, by the clock alone.
     *
     * @throws LeaseError `LOST`, of the first that can't.
     */
    check(): void;
    /**
     * Asks the host about every one of the leases, then checks.
     *
     * @throws LeaseError what `Lease.verify()` throws.
     */
    verify(): Promise<void>;
    /** Gives all leases back, at once. Happens once, and never rejects. */
    release(): Promise<Released>;
    /** Releases the leases, those left out that were detached or handed over. Never rejects. */
    [Symbol.asyncDispose](): Promise<void>;
}
/**
 * Acquires a lease on each of the keys, one after the other in one order for everybody: who wants
 * the same keys in another order can't end up waiting for us while we wait for it.
 */
export declare function acquireAll(client: Pick<LeaseClient, "acquire">, keys: readonly string[], options: AcquireOptions & {
    readonly waitMs: number;
}, clock: Clock): Promise<LeaseSet>;
