import { CLOCK } from "../lease/arguments.js";
import {
  type CallOptions,
  type Capabilities,
  type LeaseBackend,
  OPERATIONS,
  type Operation,
  type WireRequest,
  type WireResponse,
} from "../lease/backend.js";
import { argument, oneOf, optionsOf, required, type Table, whole } from "../lease/check.js";
import type { Clock } from "../lease/clock.js";
import { BackendError } from "../lease/errors.js";
import { BACKEND } from "../lease/recognise.js";
import { tellStandstill } from "./standstill.js";
import { PASSING_MS, TestClock } from "./test-clock.js";

/** What becomes of one request. Without any of these it is carried out and answered. */
export interface Behaviour {
  /** How long the request takes to reach the host, in milliseconds. */
  readonly toHostMs?: number;
  /** How long the answer takes to come back, in milliseconds. */
  readonly toClientMs?: number;
  /** How often the host gets the request: 0 loses it, 2 doubles it. */
  readonly deliver?: number;
  /**
   * What the client gets instead of the host's answer: `never` for none at all, `response` for
   * this one, `error` for a call that rejects with it.
   */
  readonly answer?: "never" | { readonly response: unknown } | { readonly error: unknown };
}

const BEHAVIOUR: Table<Behaviour> = {
  toHostMs: PASSING_MS,
  toClientMs: PASSING_MS,
  deliver: whole("times", 0, 100),
  answer: {
    must: '"never", { response } or { error }',
    is: (value) =>
      value === "never" ||
      Reflect.has(value as object, "response") ||
      Reflect.has(value as object, "error"),
  },
};
const OPERATION = oneOf(...OPERATIONS);
const ANY = oneOf(...OPERATIONS, "*");

/** The network before a host. */
export interface Network {
  readonly clock: Clock;
  readonly latencyMs?: number;
}

const NETWORK: Table<Network> = { clock: required(CLOCK), latencyMs: PASSING_MS };

/** A request that was made. */
export interface Recorded {
  readonly request: WireRequest;
  readonly options: CallOptions;
  /** When, by the clock's `monotonic()`. */
  readonly atMs: number;
}

/**
 * A host with a network before it that does what a test says.
 *
 * Each request takes the next behaviour in line for its operation, or the standing one.
 */
export class ScriptedBackend implements LeaseBackend {
  /** Every request, in order. */
  readonly requests: Recorded[] = [];
  readonly #inner: LeaseBackend;
  readonly #clock: Clock;
  readonly #ordinary: Required<Pick<Behaviour, "toHostMs" | "toClientMs">>;
  readonly #line = new Map<Operation, Behaviour[]>();
  readonly #standing = new Map<Operation | "*", Behaviour>();

  /**
   * @param inner - The host behind it all.
   * @param options.clock - By which delays are timed.
   * @param options.latencyMs - One way, unless a behaviour says otherwise; 10 by default.
   * @throws LeaseError `INVALID` for a bad argument, as all its methods do.
   */
  constructor(inner: LeaseBackend, options: Network) {
    const { clock, latencyMs = 10 } = optionsOf(NETWORK, options);
    this.#inner = argument("inner", BACKEND, inner);
    this.#clock = clock;
    this.#ordinary = { toHostMs: latencyMs, toClientMs: latencyMs };
  }

  get capabilities(): Capabilities {
    return this.#inner.capabilities;
  }

  /** The next requests for this operation do this, one each. */
  next(operation: Operation, ...behaviours: readonly Behaviour[]): this {
    argument("operation", OPERATION, operation);
    const line = this.#line.get(operation) ?? [];
    const more = behaviours.map((each) => optionsOf(BEHAVIOUR, each, "behaviour"));
    this.#line.set(operation, [...line, ...more]);
    return this;
  }

  /** Requests for this operation do this, or those for any if `*`, where no other is in line. */
  always(operation: Operation | "*", behaviour: Behaviour): this {
    argument("operation", ANY, operation);
    this.#standing.set(operation, optionsOf(BEHAVIOUR, behaviour, "behaviour"));
    return this;
  }

  /** Requests for this operation, or for any if `*`, are ordinary again. */
  restore(operation: Operation | "*" = "*"): this {
    if (operation === "*") {
      this.#line.clear();
      this.#standing.clear();
    } else {
      this.#line.delete(operation);
      this.#standing.delete(operation);
    }
    return this;
  }

  /** The requests for one operation, in order. */
  of(operation: Operation): readonly Recorded[] {
    return this.requests.filter(({ request }) => request.operation === operation);
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    this.requests.push({ request, options, atMs: this.#clock.monotonic() });
    const { signal } = options;
    const moves = this.#watch(request.operation);
    // An answer that never comes is no longer waited for then.
    signal.addEventListener("abort", moves, { once: true });
    try {
      return await this.#carry(request, options);
    } finally {
      signal.removeEventListener("abort", moves);
      moves();
    }
  }

  #watch(operation: Operation): () => void {
    const clock = this.#clock;
    return clock instanceof TestClock ? tellStandstill(clock, `"${operation}"`) : () => {};
  }

  async #carry(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const behaviour = this.#behaviour(request.operation);
    const { toHostMs = 0, toClientMs = 0, deliver = 1, answer } = behaviour;
    await this.#pause(toHostMs);
    const outcomes: Promise<WireResponse>[] = [];
    for (let times = 0; times < deliver; times += 1) {
      outcomes.push(this.#inner.call(request, { ...options, signal: this.#onwards(options) }));
    }
    const settled = await Promise.allSettled(outcomes);
    if (answer === "never" || (answer === undefined && settled.length === 0)) {
      return new Promise(() => {});
    }
    await this.#pause(toClientMs);
    if (answer !== undefined) {
      if ("error" in answer) {
        throw answer.error;
      }
      return answer.response as WireResponse;
    }
    const last = settled.at(-1);
    if (last?.status === "fulfilled") {
      return last.value;
    }
    throw last?.reason ?? new BackendError("Lost on the way.", { delivery: "unknown" });
  }

  #behaviour(operation: Operation): Behaviour {
    const scripted = this.#line.get(operation)?.shift() ?? this.#standing.get(operation);
    return { ...this.#ordinary, ...(scripted ?? this.#standing.get("*")) };
  }

  /** A client that goes away is noticed by the host as late as anything else it does. */
  #onwards({ signal }: CallOptions): AbortSignal {
    const onwards = new AbortController();
    const abort = () => {
      this.#clock.setTimeout(() => onwards.abort(signal.reason), this.#ordinary.toHostMs);
    };
    if (signal.aborted) {
      abort();
    } else {
      signal.addEventListener("abort", abort, { once: true });
    }
    return onwards.signal;
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) {
      await new Promise<void>((resolve) => {
        this.#clock.setTimeout(resolve, ms);
      });
    }
  }
}
