import { systemClock } from "../lease/clock.js";
import { LeaseError } from "../lease/errors.js";
import type { CallLimits } from "../lease/waiting.js";

const PAUSE_MS = 50;

/** An attempt that hangs leaves the time for another, where there is enough for two. */
const SHORTEST_ATTEMPT_MS = 250;

/** What is left of the time that one call may take: questions are asked again in it. */
export class Patience {
  readonly #attemptMs: number;
  readonly #end: number;

  constructor(limitMs: number) {
    this.#attemptMs = Math.max(limitMs / 2, SHORTEST_ATTEMPT_MS);
    this.#end = systemClock.monotonic() + limitMs;
  }

  /**
   * The answer to a question that may be put more than once.
   *
   * @throws What it was last answered with, when the time is up or another attempt is of no use.
   */
  async ask<T>(question: (limits: CallLimits) => Promise<T>): Promise<T> {
    for (;;) {
      const timeoutMs = Math.max(Math.floor(Math.min(this.#attemptMs, this.#leftMs)), 1);
      try {
        return await question({ timeoutMs });
      } catch (error) {
        if (!LeaseError.is(error) || error.code !== "UNAVAILABLE") throw error;
        const { retryAfterMs = 0 } = error;
        if (!(await this.pause(retryAfterMs))) throw error;
      }
    }
  }

  /** Lets some time pass. False, at once, if there is not so much left. */
  async pause(leastMs = 0): Promise<boolean> {
    const ms = Math.max(leastMs, PAUSE_MS);
    if (this.#leftMs <= ms) return false;
    await new Promise<void>((wake) => systemClock.setTimeout(wake, ms));
    return true;
  }

  get #leftMs(): number {
    return this.#end - systemClock.monotonic();
  }
}
