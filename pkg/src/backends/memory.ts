import { MemoryHost } from "#memory-wasm";
import { Parking } from "../host/parking.js";
import { CLOCK } from "../lease/arguments.js";
import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { optionsOf, type Table } from "../lease/check.js";
import { type Clock, systemClock, unref } from "../lease/clock.js";
import { BackendError } from "../lease/errors.js";

/** How an embedded host goes about it. */
export interface MemoryOptions {
  /** The time and timers; the runtime's own by default. The clients' clock, in tests. */
  readonly clock?: Clock;
}

const OPTIONS: Table<MemoryOptions> = { clock: CLOCK };

/**
 * A host inside this process: the same machine as the Durable Object's, without storage. Clients
 * made with the same host contend; it forgets everything with the process.
 *
 * @throws LeaseError `INVALID` for a bad option.
 */
export function memory(options?: MemoryOptions): LeaseBackend {
  const { clock = systemClock } = optionsOf(OPTIONS, options);
  return new Memory(clock);
}

interface Step {
  readonly replies: readonly { readonly to: number; readonly response: WireResponse }[];
  readonly alarmInMs?: number;
}

class Memory implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "one-process",
    fencing: "one-process",
    waiting: "push",
    survives: "nothing: it ends with the process",
    list: true,
  };
  readonly #machine = new MemoryHost();
  readonly #parking = new Parking<WireResponse>();
  readonly #clock: Clock;
  /** What the monotonic clock is behind the time since 1970: fences rise with that. */
  readonly #origin: number;
  #alarm: unknown;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#origin = clock.wall() - clock.monotonic();
  }

  async call(request: WireRequest, { signal }: CallOptions): Promise<WireResponse> {
    if (signal.aborted) {
      throw new BackendError("Aborted before it was sent.", { delivery: "never" });
    }
    const { ticket, answer } = this.#parking.park();
    const leave = () => {
      if (this.#parking.leave(ticket, signal.reason)) {
        this.#step((now) => this.#machine.gone(now, ticket));
      }
    };
    signal.addEventListener("abort", leave, { once: true });
    try {
      const text = JSON.stringify(request);
      this.#step((now) => this.#machine.request(now, ticket, text));
      return await answer;
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  #step(input: (now: number) => string): void {
    const { replies, alarmInMs } = JSON.parse(
      input(this.#origin + this.#clock.monotonic()),
    ) as Step;
    for (const { to, response } of replies) {
      this.#parking.settle(to, response);
    }
    this.#clock.clearTimeout(this.#alarm);
    this.#alarm = undefined;
    if (alarmInMs !== undefined) {
      this.#alarm = this.#clock.setTimeout(() => {
        this.#step((now) => this.#machine.tick(now));
      }, alarmInMs);
      unref(this.#alarm);
    }
  }
}
