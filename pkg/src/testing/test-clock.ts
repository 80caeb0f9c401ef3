import { argument, type Check } from "../lease/check.js";
import type { Clock } from "../lease/clock.js";

/** A time that passes. */
export const PASSING_MS: Check = {
  must: "a number of milliseconds from 0",
  is: (value) => Number.isFinite(value) && Number(value) >= 0,
};

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/**
 * A clock that moves only when told. Timers run in order of their time, each at its own.
 */
export class TestClock implements Clock {
  #time = 0;
  #monotonicLag = 0;
  #wallLead = 1_000_000_000_000;
  #frozenAt: number | undefined;
  #lastTimer = 0;
  readonly #timers = new Map<number, Timer>();

  /** Time since the clock was made, in milliseconds, whatever its readings say. */
  get now(): number {
    return this.#time;
  }

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.size;
  }

  monotonic(): number {
    return (this.#frozenAt ?? this.#time) - this.#monotonicLag;
  }

  wall(): number {
    return (this.#frozenAt ?? this.#time) + this.#wallLead;
  }

  setTimeout(callback: () => void, ms: number): unknown {
    this.#lastTimer += 1;
    this.#timers.set(this.#lastTimer, { due: this.#time + Math.max(ms, 0), callback });
    return this.#lastTimer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  /** Lets `ms` milliseconds pass: every timer due runs at its time, and so does what follows. */
  async advance(ms: number): Promise<void> {
    const end = this.#time + argument("ms", PASSING_MS, ms);
    await this.settle();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      const [id, timer] = next;
      this.#timers.delete(id);
      this.#time = Math.max(this.#time, timer.due);
      this.#thaw();
      timer.callback();
      await this.settle();
    }
    this.#time = Math.max(this.#time, end);
    this.#thaw();
    await this.settle();
  }

  /** Lets everything go on that waits for no timer. */
  async settle(): Promise<void> {
    await new Promise((resolve) => {
      turn(() => turn(resolve));
    });
  }

  /** Lets `ms` milliseconds pass while nothing else runs, as when code blocks the event loop. */
  block(ms: number): void {
    this.#time += argument("ms", PASSING_MS, ms);
  }

  /** Lets `ms` milliseconds pass in which the monotonic clock stands still, as in a sleep. */
  sleep(ms: number): void {
    this.block(ms);
    this.#monotonicLag += ms;
  }

  /** Sets the wall clock forward, or back, without time passing. */
  stepWall(ms: number): void {
    this.#wallLead += ms;
  }

  /**
   * Has both clocks show the present until the next `advance`, however long code blocks, as on
   * Workers, where time is that of the last I/O.
   */
  freeze(): void {
    this.#frozenAt = this.#time;
  }

  #thaw(): void {
    this.#frozenAt = undefined;
  }

  #next(end: number): [number, Timer] | undefined {
    let first: [number, Timer] | undefined;
    for (const entry of this.#timers) {
      if (entry[1].due <= end && (first === undefined || entry[1].due < first[1].due)) {
        first = entry;
      }
    }
    return first;
  }
}

const turn: (callback: (value?: unknown) => void) => void =
  typeof setImmediate === "function" ? setImmediate : (callback) => setTimeout(callback, 0);
