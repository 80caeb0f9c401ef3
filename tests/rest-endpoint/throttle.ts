/** Delays commands over a rate and rejects none, as the real service does. */
export class Throttle {
  #perSecond = Infinity;
  #freeAt = 0;

  /** `Infinity` lifts it. */
  limit(commandsPerSecond: number): void {
    this.#perSecond = commandsPerSecond;
    this.#freeAt = 0;
  }

  /** Books the commands and tells how long they must wait, in ms. */
  book(commands: number): number {
    const now = performance.now();
    const startAt = Math.max(now, this.#freeAt);
    this.#freeAt = startAt + (commands * 1000) / this.#perSecond;
    return startAt - now;
  }
}
