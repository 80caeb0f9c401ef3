import { callListener } from "./call-listener.js";
import type { LeaseError } from "./errors.js";
import { type LeaseEvent, type LeaseEventMap, LeaseNotice } from "./events.js";
import type { Lease } from "./lease.js";

/** What a lease's listeners are told of, too. */
export type Noticed = keyof LeaseEventMap;

/** What is known of something that happened to a lease. */
export interface Happening {
  readonly type: LeaseEvent["type"];
  readonly key: string;
  readonly remainingMs?: number;
  readonly waiters?: number;
  readonly error?: LeaseError;
}

const NOTICED: readonly string[] = [
  "renewed",
  "wanted",
  "jeopardy",
  "safe",
  "renewfailed",
  "lost",
] satisfies Noticed[];

/** What is still to be told to code of others, which may call back: oldest first. */
export class Announcements {
  readonly #tell: (event: LeaseEvent) => void;
  readonly #waiting: (() => void)[] = [];
  #isTelling = false;

  /** @param tell - Tells the client's owner. */
  constructor(tell: (event: LeaseEvent) => void) {
    this.#tell = tell;
  }

  add(event: LeaseEvent): void {
    this.#waiting.push(() => this.#tell(event));
  }

  /** Something that happened to these leases. */
  addFor(leases: Iterable<Lease>, { key, ...happening }: Happening): void {
    const { type, remainingMs = 0, error } = happening;
    for (const lease of leases) {
      if (NOTICED.includes(type)) {
        this.#waiting.push(() => {
          lease.dispatchEvent(new LeaseNotice(type as Noticed, remainingMs, error));
        });
      }
      this.add({ ...happening, key, lease } as LeaseEvent);
    }
  }

  /** What is added from within a listener is told in turn, by the outermost call. */
  tellAll(): void {
    if (this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    for (let tell = this.#waiting.shift(); tell !== undefined; tell = this.#waiting.shift()) {
      callListener(tell);
    }
    this.#isTelling = false;
  }
}
