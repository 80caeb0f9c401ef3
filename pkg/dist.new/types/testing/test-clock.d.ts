import type { Clock } from "../lease/clock.js";
/**
 * A clock that moves only when told. Timers run in order of their time, each at its own.
 */
export declare class TestClock implements Clock {
    #private;
    /** Time since the clock was made, in milliseconds, whatever its readings say. */
    get now(): number;
    /** How many timers are set. */
    get timers(): number;
    monotonic(): number;
    wall(): number;
    setTimeout(callback: () => void, ms: number): unknown;
    clearTimeout(timer: unknown): void;
    /** Lets `ms` milliseconds pass: every timer due runs at its time, and so does what follows. */
    advance(ms: number): Promise<void>;
    /** Lets everything go on that waits for no timer. */
    settle(): Promise<void>;
    /** Lets `ms` milliseconds pass while nothing else runs, as when code blocks the event loop. */
    block(ms: number): void;
    /** Lets `ms` milliseconds pass in which the monotonic clock stands still, as in a sleep. */
    sleep(ms: number): void;
    /** Sets the wall clock forward, or back, without time passing. */
    stepWall(ms: number): void;
    /**
     * Has both clocks show the present until the next `advance`, however long code blocks, as on
     * Workers, where time is that of the last I/O.
     */
    freeze(): void;
}
