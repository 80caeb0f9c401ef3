import { unref } from "../lease/clock.js";

/** A connection that listens to channels. */
export interface Subscriber {
  subscribe(channel: string, hear: () => void): Promise<unknown>;
  unsubscribe(channel: string, hear: () => void): Promise<unknown>;
  close(): unknown;
}

/** How long a connection stays that nobody listens by, in milliseconds. */
const LINGER_MS = 250;

/**
 * A connection of its own for listening: Redis lets one that listens do nothing else. It is there
 * while somebody waits, and goes soon after, so that it keeps no process alive.
 */
export class Subscriptions {
  readonly #open: () => Promise<Subscriber>;
  #subscriber: Promise<Subscriber> | undefined;
  #listeners = 0;
  #closing: ReturnType<typeof setTimeout> | undefined;

  constructor(open: () => Promise<Subscriber>) {
    this.#open = open;
  }

  /** Hears what comes in on a channel until the signal aborts. */
  async listen(channel: string, hear: () => void, signal: AbortSignal): Promise<void> {
    clearTimeout(this.#closing);
    this.#listeners += 1;
    try {
      this.#subscriber ??= this.#open();
      const subscriber = await this.#subscriber;
      await subscriber.subscribe(channel, hear);
      await aborted(signal);
      await subscriber.unsubscribe(channel, hear);
    } finally {
      this.#listeners -= 1;
      if (this.#listeners === 0) {
        this.#closing = setTimeout(() => this.#close(), LINGER_MS);
        unref(this.#closing);
      }
    }
  }

  #close(): void {
    const closed = this.#subscriber;
    this.#subscriber = undefined;
    closed?.then((subscriber) => subscriber.close()).catch(() => {});
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
