import type { CallOptions, Capabilities, LeaseBackend, Operation, WireRequest, WireResponse } from "../lease/backend.js";
import type { Clock } from "../lease/clock.js";
/** What becomes of one request. Without any of these it is carried out and answered. */
export interface Behaviour {
    /** How long the request takes to reach the host, in milliseconds. */
    readonly toHostMs?: number;
    /** How long the answer takes to come back, in milliseconds. */
    readonly toClientMs?: number;
    /** How often the host gets the request: 0 loses it, 2 doubles it. */
    readonly deliver?: number;
    /**
     * What the client gets instead of the host's answer: `never` for none at all, `response` for
     * this one, `error` for a call that rejects with it.
     */
    readonly answer?: "never" | {
        readonly response: unknown;
    } | {
        readonly error: unknown;
    };
}
/** A request that was made. */
export interface Recorded {
    readonly request: WireRequest;
    readonly options: CallOptions;
    /** When, by the clock's `monotonic()`. */
    readonly atMs: number;
}
/**
 * A host with a network before it that does what a test says.
 *
 * Each request takes the next behaviour in line for its operation, or the standing one.
 */
export declare class ScriptedBackend implements LeaseBackend {
    #private;
    /** Every request, in order. */
    readonly requests: Recorded[];
    /**
     * @param inner - The host behind it all.
     * @param options.clock - By which delays are timed.
     * @param options.latencyMs - One way, unless a behaviour says otherwise; 10 by default.
     */
    constructor(inner: LeaseBackend, options: {
        readonly clock: Clock;
        readonly latencyMs?: number;
    });
    get capabilities(): Capabilities;
    /** The next requests for this operation do this, one each. */
    next(operation: Operation, ...behaviours: readonly Behaviour[]): this;
    /** Requests for this operation do this, or those for any if `*`, where no other is in line. */
    always(operation: Operation | "*", behaviour: Behaviour): this;
    /** Requests for this operation, or for any if `*`, are ordinary again. */
    restore(operation?: Operation | "*"): this;
    /** The requests for one operation, in order. */
    of(operation: Operation): readonly Recorded[];
    call(request: WireRequest, options: CallOptions): Promise<WireResponse>;
}
