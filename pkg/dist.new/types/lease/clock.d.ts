/**
 * The time, and timers. A client reads both clocks together at every step; the core makes one
 * conservative clock of them.
 */
export interface Clock {
    /** Milliseconds that never run backwards, from any origin. May stop while the machine sleeps. */
    monotonic(): number;
    /** Milliseconds of wall time, from any origin. May step. */
    wall(): number;
    /** Calls back once, no earlier than after `ms` milliseconds. */
    setTimeout(callback: () => void, ms: number): unknown;
    /** Calls off a timer. */
    clearTimeout(timer: unknown): void;
}
/** The runtime's own clocks and timers. */
export declare const systemClock: Clock;
/** Lets the process end although the timer is set, in runtimes that would otherwise stay. */
export declare function unref(timer: unknown): void;
