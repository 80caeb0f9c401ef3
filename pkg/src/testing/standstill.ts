import type { TestClock } from "./test-clock.js";

/** Before a test's own fake timers can take its place. */
const inRealTime = globalThis.setTimeout;
const notInRealTime = globalThis.clearTimeout;

const PATIENCE_MS = 1_000;

/**
 * Says so on the console if `what` goes on in real time while a clock that only a test can move
 * stands still: the test would hang, and its runner could not tell why. Keeps the process alive for
 * that long. Ended by what it returns.
 */
export function tellStandstill(clock: TestClock, what: string): () => void {
  let timer: ReturnType<typeof setTimeout>;
  const watch = (since: number) => {
    timer = inRealTime(() => {
      if (clock.now !== since) {
        watch(clock.now);
        return;
      }
      console.warn(
        `leasehold/testing: ${what} has been under way for a second, and the TestClock stands still at ` +
          `${since} ms. Does the test wait before it lets time pass? \`await clock.advance(ms)\` does that.`,
      );
    }, PATIENCE_MS);
  };
  watch(clock.now);
  return () => notInRealTime(timer);
}
