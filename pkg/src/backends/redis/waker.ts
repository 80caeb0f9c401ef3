import { type Clock, unref } from "../../lease/clock.js";
import { deferred } from "../../lease/deferred.js";
import { BackendError } from "../../lease/errors.js";
import type { RedisConnection } from "../redis.js";

/** Lets a waiter rest until its time is up or a message comes in. Listens from the first channel on. */
export class Waker {
  readonly #connection: RedisConnection;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  #listening: Follower | undefined;
  #hinted = false;
  #isSuperseded = false;
  #wake: (() => void) | undefined;

  constructor(connection: RedisConnection, signal: AbortSignal, clock: Clock) {
    this.#connection = connection;
    this.#signal = signal;
    this.#clock = clock;
  }

  /** Whether there is another call with the same op. */
  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /** Has nobody rest any longer. */
  supersede(): void {
    this.#isSuperseded = true;
    this.#wake?.();
  }

  /** Without a channel, messages that come in count for the next rest. */
  async rest(gapMs: number, channel: string | undefined): Promise<void> {
    const { promise, resolve } = deferred<void>();
    if (channel !== undefined) {
      this.#listen(channel);
      if (this.#hinted || this.#isSuperseded) resolve();
      this.#wake = resolve;
    }
    const timer = this.#clock.setTimeout(resolve, gapMs);
    unref(timer);
    try {
      await abortable(promise, this.#signal);
    } finally {
      this.#clock.clearTimeout(timer);
      this.#wake = undefined;
    }
    if (channel !== undefined) this.#hinted = false;
  }

  /** Nobody rests any more. To end a stream takes a while, for which no answer is to wait. */
  stop(): void {
    const listening = this.#listening;
    if (listening === undefined) return;
    setTimeout(() => {
      listening.unlink();
      listening.abort();
    });
  }

  #listen(channel: string): void {
    if (this.#listening !== undefined) return;
    this.#listening = follower(this.#signal);
    const { signal } = this.#listening;
    const hint = () => {
      this.#hinted = true;
      this.#wake?.();
    };
    // A stream that fails or ends leaves the polls.
    const listening = async () => this.#connection.listen?.(channel, hint, signal);
    listening().catch(() => {});
  }
}

/** The promise, or a rejection as soon as the signal aborts. */
export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new BackendError("The wait was given up.", { delivery: "unknown" }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A signal that aborts when it is told to, and with another one until they are unlinked. */
export interface Follower {
  readonly signal: AbortSignal;
  abort(): void;
  unlink(): void;
}

/** By hand, since `AbortSignal.any` takes a tenth of a round trip on the same machine. */
export function follower(leader: AbortSignal): Follower {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (leader.aborted) abort();
  leader.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    abort,
    unlink: () => leader.removeEventListener("abort", abort),
  };
}
