import { type Deferred, deferred } from "../lease/deferred.js";

/** For hosts whose answers come later: a ticket now, the answer under that ticket another time. */
export class Parking<T> {
  #last = 0;
  readonly #parked = new Map<number, Deferred<T>>();

  /** A ticket never given before, and the promise of its answer. */
  park(): { ticket: number; answer: Promise<T> } {
    this.#last += 1;
    const parked = deferred<T>();
    this.#parked.set(this.#last, parked);
    return { ticket: this.#last, answer: parked.promise };
  }

  /** Whether the answer is still awaited. */
  has(ticket: number): boolean {
    return this.#parked.has(ticket);
  }

  /** Gives the answer, if it is still awaited. */
  settle(ticket: number, answer: T): void {
    this.#parked.get(ticket)?.resolve(answer);
    this.#parked.delete(ticket);
  }

  /** Nobody awaits this answer any more. Whether somebody did. */
  leave(ticket: number, reason: unknown): boolean {
    this.#parked.get(ticket)?.reject(reason);
    return this.#parked.delete(ticket);
  }

  /** No answer will come under any of the tickets that are out. */
  abandon(reason: unknown): void {
    for (const parked of this.#parked.values()) {
      parked.reject(reason);
    }
    this.#parked.clear();
  }
}
