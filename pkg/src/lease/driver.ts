import type { Holder, Occurrence } from "#client-wasm";
import { Attempts } from "./attempts.js";
import type { LeaseBackend } from "./backend.js";
import { type Clock, unref } from "./clock.js";
import { type BackendError, type Failure, invalid, LeaseError } from "./errors.js";
import { failureOf } from "./failure.js";
import type { Complaint, OutputEvent, OutputState, Outputs, Settled } from "./outputs.js";
import { Tickets } from "./tickets.js";

/** Where a driver finds its host and its time. */
export interface DriverEnvironment {
  readonly host: LeaseBackend;
  readonly clock: Clock;
  readonly keepProcessAlive: boolean;
}

/** Who is told what the machine says, in this order at each step. */
export interface Audience {
  /** Where the lease stands, and what has happened to it. Runs no code of others. */
  take(state: OutputState, events: readonly OutputEvent[]): void;
  /** Code of others may run, before requests go out. */
  warn(): void;
  /** And after that. */
  tell(): void;
  /** The error for an operation that has failed. */
  error(failure: Failure): LeaseError;
}

/** What the machine is asked to do: a request without what the machine knows. */
export interface Asked {
  readonly operation: "entry" | "finish" | "release" | "renew" | "transfer" | "verify";
  readonly ttlMs?: number | undefined;
  readonly toHolder?: string;
  readonly toLease?: string;
  readonly name?: string;
  readonly value?: string | undefined;
  readonly result?: string;
  readonly keepMs?: number;
}

/** About which attempt or ticket, with what in JSON, and when a failure lets us try again. */
type Particulars = [id?: number, text?: string, retryAfterMs?: number];

const BROKEN = { code: "UNAVAILABLE", reason: "internal-error" } as const;

/**
 * Drives the machine of one lease: makes the attempts that it asks for, keeps its one timer, and
 * settles what it was asked to do.
 */
export class Driver {
  readonly #env: DriverEnvironment;
  readonly #audience: Audience;
  readonly #attempts: Attempts;
  readonly #asked = new Tickets<Settled>();
  #machine: Holder | undefined;
  #state: OutputState = "acquiring";
  #timer: unknown;

  constructor(machine: Holder, env: DriverEnvironment, audience: Audience) {
    this.#machine = machine;
    this.#env = env;
    this.#audience = audience;
    this.#attempts = new Attempts(env.host, env.clock, {
      answered: (attempt, response) => this.step("answered", attempt, response),
      failed: (attempt, { delivery, retryAfterMs }) =>
        this.step(delivery === "never" ? "undelivered" : "unanswered", attempt, "", retryAfterMs),
      resending: (attempt) => this.step("resent", attempt),
    });
  }

  /** Whether the machine has nothing more to do. */
  get isClosed(): boolean {
    return this.#machine === undefined;
  }

  /** The last failure to get an answer: the cause of what followed from it. */
  get failure(): BackendError | undefined {
    return this.#attempts.failure;
  }

  /** Whether the term is over without the machine having been told. Changes nothing. */
  get isOverdue(): boolean {
    return this.#machine?.isOverdue(...this.#now()) ?? false;
  }

  remainingMs(): number {
    return this.#machine?.remainingMs(...this.#now()) ?? 0;
  }

  /** Has the machine do something, and waits until it is settled. Not once it is closed. */
  ask(asked: Asked): Promise<Settled> {
    const { ticket, outcome } = this.#asked.issue();
    try {
      this.step("ask", ticket, JSON.stringify(asked));
    } catch (error) {
      this.#asked.reject(ticket, error);
    }
    return outcome;
  }

  /** Tells the machine something, and does what it wants done. Throws if it calls an argument bad. */
  step(occurrence: Occurrence, ...particulars: Particulars): void {
    if (this.#machine !== undefined) {
      this.#apply(this.#run(this.#machine, occurrence, ...particulars));
    }
  }

  #run(
    machine: Holder,
    occurrence: Occurrence,
    ...[id = 0, text = "", retryAfterMs]: Particulars
  ): Outputs {
    try {
      const told: Outputs | Complaint = JSON.parse(
        machine.step(...this.#now(), occurrence, id, text, retryAfterMs),
      );
      if ("field" in told) {
        // Without settings that will do it is no machine.
        if (occurrence !== "ask") this.#free();
        throw invalid(told.field, told.message);
      }
      return told;
    } catch (error) {
      if (error instanceof LeaseError) {
        throw error;
      }
      // Out of memory, or a bug. What can't be watched over can't be trusted.
      this.#machine = undefined;
      this.#attempts.failure = failureOf(error, "The client");
      return this.#broken();
    }
  }

  /** What a machine would say that ends at once. */
  #broken(): Outputs {
    const { reason } = BROKEN;
    const isNew = this.#state === "acquiring";
    const end: OutputEvent = isNew ? { type: "failed", ...BROKEN } : { type: "lost", reason };
    const settled = this.#asked.open.map(
      (ticket): OutputEvent => ({ type: "settled", ticket, ...BROKEN }),
    );
    const events = [end, ...settled, { type: "closed" } as const];
    return { state: isNew ? "failed" : "lost", sends: [], drops: this.#attempts.open, events };
  }

  #apply({ state, sends, drops, events, wakeInMs }: Outputs): void {
    this.#state = state;
    if (events.some(({ type }) => type === "closed")) this.#free();
    this.#audience.take(state, events);
    for (const event of events) {
      if (event.type !== "settled") continue;
      if (event.code === undefined) this.#asked.resolve(event.ticket, event);
      else this.#asked.reject(event.ticket, this.#audience.error(event));
    }
    this.#arm(wakeInMs);
    // From here on code of others runs.
    this.#audience.warn();
    for (const attempt of drops) this.#attempts.drop(attempt);
    const isAwaited = this.#env.keepProcessAlive || this.#state === "held" || !this.#isAtRest;
    for (const send of sends) this.#attempts.send(send, isAwaited);
    this.#audience.tell();
  }

  #free(): void {
    this.#machine?.free();
    this.#machine = undefined;
  }

  #arm(ms: number | undefined): void {
    const { clock, keepProcessAlive } = this.#env;
    if (this.#timer !== undefined) {
      clock.clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (ms === undefined) {
      return;
    }
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      this.step("wake");
    }, ms);
    if (!keepProcessAlive && this.#isAtRest) {
      unref(this.#timer);
    }
  }

  /** Whether nobody waits for anything: the lease is held, or what is left is to tidy up. */
  get #isAtRest(): boolean {
    return this.#state !== "acquiring" && this.#asked.open.length === 0;
  }

  #now(): [monotonicMs: number, wallMs: number] {
    const { clock } = this.#env;
    return [clock.monotonic(), clock.wall()];
  }
}
