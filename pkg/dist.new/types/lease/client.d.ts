import { type LeaseSet } from "../coordination/lease-set.js";
import type { LeaseBackend } from "./backend.js";
import { type Clock } from "./clock.js";
import type { LeaseEvent } from "./events.js";
import { type LeaseHandle } from "./handle.js";
import type { Lease } from "./lease.js";
import type { Released } from "./released.js";
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
    readonly renewal?: {
        readonly t1?: number;
        readonly t2?: number;
    };
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
export declare class LeaseClient implements AsyncDisposable {
    #private;
    constructor(host: LeaseBackend, options?: LeaseClientOptions);
    /**
     * Waits for a lease.
     *
     * @throws LeaseError `HELD` if another has it and `waitMs` is 0; `TIMEOUT` if the wait ran out;
     * `UNAVAILABLE`, `DENIED`, `INVALID`. If `options.signal` aborts, its reason instead, at once;
     * whatever the host granted meanwhile is taken back in the background.
     */
    acquire(key: string, options?: AcquireOptions): Promise<Lease>;
    /**
     * Asks for a lease exactly once; `waitMs` is of no account.
     *
     * @returns The lease, or undefined when another holder has the key.
     * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
     */
    tryAcquire(key: string, options?: AcquireOptions): Promise<Lease | undefined>;
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
    /**
     * Waits for a lease on each of several keys, and gets all of them or none. Whatever the order of
     * `keys`, they are asked for in one order, so that callers of `acquireAll` never wait for each
     * other in a circle. `waitMs` and `signal` are those of the whole.
     *
     * @param keys - 1 to 64; a key given twice counts once.
     * @throws What `acquire` throws, for the first key that can't be had; LeaseError `LOST` if one
     * that was had is lost meanwhile. The leases had until then are given back in the background.
     */
    acquireAll(keys: readonly string[], options?: AcquireOptions): Promise<LeaseSet>;
    /**
     * Runs `fn` while holding a lease on each of several keys: `run`, by way of `acquireAll`.
     *
     * @returns What `fn` returned.
     * @throws What `run` and `acquireAll` throw.
     */
    runAll<T>(keys: readonly string[], fn: (set: LeaseSet) => T | Promise<T>): Promise<T>;
    runAll<T>(keys: readonly string[], options: AcquireOptions, fn: (set: LeaseSet) => T | Promise<T>): Promise<T>;
    /**
     * Carries on a lease that was transferred, or detached elsewhere. It gets a new id and a higher
     * fence; of two that resume the same handle exactly one gets it.
     *
     * @throws LeaseError `LOST` if the handle's lease is gone or was taken up; `UNAVAILABLE`,
     * `DENIED`, `INVALID`.
     */
    resume(handle: LeaseHandle): Promise<Lease>;
    /**
     * Asks the host who holds a key.
     *
     * @returns Undefined if nobody does.
     * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`.
     */
    inspect(key: string): Promise<LeaseInfo | undefined>;
    /**
     * Ends whatever lease a key has. For operators: its holder learns of it at its next renewal.
     *
     * @returns Whether there was one.
     * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`.
     */
    revoke(key: string): Promise<boolean>;
    /** The leases of this client that are held now, those left out that were detached. */
    get heldLeases(): readonly Lease[];
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
    close(options?: {
        readonly timeoutMs?: number;
    }): Promise<Released>;
    /** Closes the client. */
    [Symbol.asyncDispose](): Promise<void>;
}
