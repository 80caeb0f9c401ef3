/** A small seeded generator (Mulberry32): the same seed, the same run, as far as clocks allow. */
export class Rng {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` up to `high`. */
  between(low: number, high: number): number {
    return Math.floor(low + this.next() * (high - low));
  }

  /** One of them. */
  pick<T>(items: readonly T[]): T {
    return items[this.between(0, items.length)] as T;
  }
}
