import { type Deferred, deferred } from "./deferred.js";

/** Who waits for the outcome of an operation, each under a number. */
export class Tickets<T> {
  readonly #waiting = new Map<number, Deferred<T>>();
  #last = 0;

  /** Those that are not settled. */
  get open(): readonly number[] {
    return [...this.#waiting.keys()];
  }

  /** The promise of an outcome, and its number. Nobody has to handle its rejection. */
  issue(): { readonly ticket: number; readonly outcome: Promise<T> } {
    this.#last += 1;
    const waiting = deferred<T>();
    this.#waiting.set(this.#last, waiting);
    return { ticket: this.#last, outcome: waiting.promise };
  }

  resolve(ticket: number, outcome: T): void {
    this.#take(ticket)?.resolve(outcome);
  }

  reject(ticket: number, reason: unknown): void {
    this.#take(ticket)?.reject(reason);
  }

  #take(ticket: number): Deferred<T> | undefined {
    const waiting = this.#waiting.get(ticket);
    this.#waiting.delete(ticket);
    return waiting;
  }
}
