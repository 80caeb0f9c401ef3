import { LeaseError } from "../../lease/errors.js";
import type { Lease } from "../../lease/lease.js";
import { onAbort } from "../../lease/waiting.js";
import type { LockMode } from "./request.js";

/** Asks the host for a lease, and waits for it. */
export type Ask = (mode: LockMode, signal: AbortSignal) => Promise<Lease>;

/** A request that waits for its turn. */
interface Waiting {
  readonly mode: LockMode;
  readonly resolve: (lease: Lease) => void;
  readonly reject: (reason: unknown) => void;
  /** What the host is asked on its behalf; nothing while that would come too early. */
  question: Question | undefined;
}

interface Question {
  readonly abort: AbortController;
  of: Waiting;
}

/**
 * The requests of one manager for one name, granted in the order in which they were made.
 *
 * Each is put to the host at once, and a network may change their order on the way. So a grant goes
 * to the oldest request, whichever it was asked for. If it is not of the mode of the oldest, it has
 * come before its turn: it is given back, and asked for again when that turn has come.
 */
export class Turns {
  readonly #ask: Ask;
  readonly #waiting: Waiting[] = [];

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  /** The modes of the requests that wait, the oldest first. */
  get waiting(): readonly LockMode[] {
    return this.#waiting.map(({ mode }) => mode);
  }

  /** Whether a request waits that one of this mode has to come after. */
  isBefore(mode: LockMode): boolean {
    return this.waiting.some((other) => mode === "exclusive" || other === "exclusive");
  }

  /** The lease, in its turn. Rejects with the signal's reason, at once, if that aborts before. */
  async next(mode: LockMode, signal: AbortSignal | undefined): Promise<Lease> {
    let stop = () => {};
    try {
      return await new Promise<Lease>((resolve, reject) => {
        const waiting: Waiting = { mode, resolve, reject, question: undefined };
        this.#waiting.push(waiting);
        this.#put(waiting);
        stop = onAbort(signal, (reason) => {
          waiting.question?.abort.abort(reason);
          this.#leave(waiting);
          reject(reason);
        });
      });
    } finally {
      stop();
    }
  }

  #put(waiting: Waiting): void {
    const question = { abort: new AbortController(), of: waiting };
    waiting.question = question;
    this.#ask(waiting.mode, question.abort.signal).then(
      (lease) => this.#granted(question, lease),
      (error) => this.#failed(question, error),
    );
  }

  #granted(question: Question, lease: Lease): void {
    const [oldest] = this.#waiting;
    if (oldest === undefined || !this.#waiting.includes(question.of)) {
      lease.release();
    } else if (oldest.mode === question.of.mode) {
      exchange(question, oldest);
      this.#leave(oldest);
      oldest.resolve(lease);
    } else {
      question.of.question = undefined;
      lease.release();
    }
  }

  #failed({ of, abort }: Question, error: unknown): void {
    if (abort.signal.aborted) return;
    if (LeaseError.is(error) && error.code === "TIMEOUT") {
      this.#put(of); // The standard knows no end of the waiting.
    } else {
      this.#leave(of);
      of.reject(error);
    }
  }

  #leave(waiting: Waiting): void {
    const at = this.#waiting.indexOf(waiting);
    if (at !== -1) this.#waiting.splice(at, 1);
    for (const each of this.#waiting) {
      if (each.mode !== this.#waiting[0]?.mode) break;
      if (each.question === undefined) this.#put(each);
    }
  }
}

/** Has the oldest request be the one that the question is asked for. */
function exchange(question: Question, oldest: Waiting): void {
  const { of } = question;
  of.question = oldest.question;
  if (of.question !== undefined) of.question.of = of;
  question.of = oldest;
  oldest.question = question;
}
