import { ask } from "./ask.js";
import type { LeaseBackend } from "./backend.js";
import { callListener } from "./call-listener.js";
import { type Clock, unref } from "./clock.js";
import type { BackendError } from "./errors.js";
import type { Send } from "./outputs.js";

/** A connection keeps the process up, which what nobody waits for must not do for longer than this. */
const UNAWAITED_MS = 1_000;

/** Who is told what becomes of an attempt. */
export interface Reports {
  /** Its answer, as JSON. */
  answered(attempt: number, response: string): void;
  failed(attempt: number, error: BackendError): void;
  /** Nothing of it was carried out, and it is about to be sent again. */
  resending(attempt: number): void;
}

/** The requests that are under way for one lease. */
export class Attempts {
  readonly #host: LeaseBackend;
  readonly #clock: Clock;
  readonly #reports: Reports;
  readonly #open = new Map<number, AbortController>();
  /** The last failure to get an answer that was awaited. */
  failure: BackendError | undefined;

  constructor(host: LeaseBackend, clock: Clock, reports: Reports) {
    this.#host = host;
    this.#clock = clock;
    this.#reports = reports;
  }

  /** Those whose answers are awaited. */
  get open(): readonly number[] {
    return [...this.#open.keys()];
  }

  /** Sends a request. One that is not `awaited` by anybody is left after a while. */
  send({ attempt, request, timeoutMs, rebind }: Send, awaited: boolean): void {
    const controller = new AbortController();
    this.#open.set(attempt, controller);
    const { signal } = controller;
    const clock = this.#clock;
    const resending = () => this.#reports.resending(attempt);
    const leaving = awaited ? undefined : clock.setTimeout(() => controller.abort(), UNAWAITED_MS);
    unref(leaving);
    ask(this.#host, request, { signal, timeoutMs, rebind, clock, resending }).then(
      (response) => {
        clock.clearTimeout(leaving);
        this.#open.delete(attempt);
        this.#reports.answered(attempt, response);
      },
      (error: BackendError) => {
        clock.clearTimeout(leaving);
        this.#failed(attempt, error);
      },
    );
  }

  /** Awaits an answer no more. */
  drop(attempt: number): void {
    const controller = this.#open.get(attempt);
    this.#open.delete(attempt);
    callListener(() => controller?.abort());
  }

  #failed(attempt: number, error: BackendError): void {
    if (this.#open.delete(attempt)) {
      this.failure = error;
    }
    const { verdict, message } = error;
    if (verdict === undefined) {
      this.#reports.failed(attempt, error);
    } else {
      const refusal = { v: 1, outcome: "refused", ...verdict, message };
      this.#reports.answered(attempt, JSON.stringify(refusal));
    }
  }
}
