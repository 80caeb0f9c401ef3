/**
 * What went wrong, by what can be done about it.
 *
 * - `HELD`: another live holder has the key. Try again after `retryAfterMs`.
 * - `TIMEOUT`: the wait ran out while another held the key.
 * - `LOST`: the lease is gone, or was given up; `reason` says how. Stop the guarded work.
 * - `UNAVAILABLE`: the host could not be asked, or what it did is unknown.
 * - `DENIED`: the host refuses this caller. Mend the token or its scope.
 * - `INVALID`: a bad argument, found before anything was sent, or a request that the host calls
 *   malformed.
 */
export type LeaseErrorCode = "HELD" | "LOST" | "UNAVAILABLE" | "TIMEOUT" | "INVALID" | "DENIED";
/** What a {@link LeaseError} knows beside its code. */
export interface LeaseErrorDetails {
    readonly key?: string | undefined;
    readonly holder?: string | undefined;
    readonly fence?: bigint | undefined;
    readonly retryAfterMs?: number | undefined;
    readonly reason?: string | undefined;
    readonly cause?: unknown;
}
/**
 * The only kind of error this package rejects with, a caller's own abort reason apart.
 *
 * Its text names the key and never a token, a lease id or a holder.
 */
export declare class LeaseError extends Error {
    #private;
    /** What can be done about it. */
    readonly code: LeaseErrorCode;
    /** The key concerned. */
    readonly key?: string;
    /** The fence of the lease concerned. */
    readonly fence?: bigint;
    /** When trying again may first help, in milliseconds from now. */
    readonly retryAfterMs?: number;
    /** A stable word for the cause, such as `expired`, `revoked` or `no-answer`. */
    readonly reason?: string;
    constructor(code: LeaseErrorCode, message: string, details?: LeaseErrorDetails);
    /** `HELD`, `TIMEOUT`: who has the key, if known. Kept out of what is printed or serialised. */
    get holder(): string | undefined;
    /** What may be logged: all but the holder, the fence in decimal. */
    toJSON(): Record<string, unknown>;
}
/**
 * What a {@link LeaseBackend} rejects with when a request got no answer.
 *
 * Anything else that it rejects with counts as `unknown`.
 */
export declare class BackendError extends Error {
    /**
     * `never` only if the request certainly did not reach the host. When in doubt, `unknown`: it may
     * have been carried out.
     */
    readonly delivery: "never" | "unknown";
    /** How long the host asked to be left alone, in milliseconds. */
    readonly retryAfterMs?: number;
    constructor(message: string, details: {
        readonly delivery: "never" | "unknown";
        readonly retryAfterMs?: number | undefined;
        readonly cause?: unknown;
    });
}
/** A failure as the core and the hosts tell of it. */
export interface Failure {
    readonly code: LeaseErrorCode;
    readonly reason: string;
    readonly message?: string | undefined;
    readonly holder?: string | undefined;
    readonly retryAfterMs?: number | undefined;
}
/** The error for a failure. */
export declare function toLeaseError(failure: Failure, about: {
    readonly key: string;
    readonly fence?: bigint | undefined;
    readonly cause?: unknown;
}): LeaseError;
/** Runs what may throw the core's record of a bad argument, and throws `INVALID` instead. */
export declare function checked<T>(call: () => T): T;
/** The error for a bad argument. */
export declare function invalid(field: string, expected: string): LeaseError;
