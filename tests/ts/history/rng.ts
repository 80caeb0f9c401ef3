import { seededRandom } from "../../rest-endpoint/random.ts";

/** Choices by a seed: the same seed, the same run, as far as clocks allow. */
export class Rng {
  /** From 0 up to 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
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
