import { unref } from "../lease/clock.js";

/** A connection that listens to channels. */
export interface Subscriber {
  subscribe(channel: string, hear: () => void): Promise<unknown>;
  unsubscribe(channel: string, hear: () => void): Promise<unknown>;
  /** Never throws. */
  close(): void;
}

/** How long a connection stays that nobody listens by, in milliseconds. */
const LINGER_MS = 250;

/**
 * A connection of its own for listening: Redis lets one that listens do nothing else. It is there
 * while somebody waits, and goes soon after, so that it keeps no process alive.
 */
export class Subscriptions {
  readonly #open: () => Subscriber;
  #subscriber: Subscriber | undefined;
  #listeners = 0;
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(open: () => Subscriber) {
    this.#open = open;
  }

  /**
   * Hears what comes in on a channel until the signal aborts, whether or not the server is there: a
   * command that waits for it is waited for by nobody.
   */
  async listen(channel: string, hear: () => void, signal: AbortSignal): Promise<void> {
    clearTimeout(this.#closing);
    this.#subscriber ??= this.#open();
    const subscriber = this.#subscriber;
    this.#listeners += 1;
    const subscribed = subscriber.subscribe(channel, hear);
    try {
      const left = aborted(signal);
      await Promise.race([subscribed.then(() => left), left]);
      subscribed.then(() => subscriber.unsubscribe(channel, hear)).catch(() => {});
    } finally {
      this.#listeners -= 1;
      if (this.#listeners === 0) {
        this.#closing = setTimeout(() => this.#close(subscriber), LINGER_MS);
        unref(this.#closing);
      }
    }
  }

  #close(subscriber: Subscriber): void {
    this.#subscriber = undefined;
    subscriber.close();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
