import { isAnswer, usualTimeoutMs } from "#client-wasm";
import { ask } from "./ask.js";
import type { Capabilities, LeaseBackend, WireRequest, WireResponse } from "./backend.js";
import type { Clock } from "./clock.js";
import { BackendError, type Failure, type LeaseError, toLeaseError, withStack } from "./errors.js";
import { randomId } from "./random-id.js";
import { type CallLimits, limited } from "./waiting.js";

/** A request but for what is the same in all of them. */
export type Question = Omit<WireRequest, "v" | "op">;

/** Asks a host what belongs to no lease of this client's: one attempt each. */
export class Questions {
  readonly clock: Clock;
  readonly #backend: LeaseBackend;
  /** Ends what is being waited for; nothing where a wait belongs to its request. */
  readonly #waits: Set<(reason: unknown) => void> | undefined;
  #closed: LeaseError | undefined;
  /**
   * How long the answer to one that doesn't wait may take, in milliseconds. Looked up here, which has
   * the wasm made with the client and not at the first question.
   */
  readonly usualMs = usualTimeoutMs(0);

  constructor(backend: LeaseBackend, clock: Clock, areShared: boolean) {
    this.#backend = backend;
    this.clock = clock;
    this.#waits = areShared ? new Set() : undefined;
  }

  get capabilities(): Capabilities {
    return this.#backend.capabilities;
  }

  /** From here on every question is answered so, those that are waited for among them. */
  close(reason: LeaseError): void {
    this.#closed = reason;
    for (const end of this.#waits ?? []) end(reason);
  }

  assertOpen(): void {
    if (this.#closed !== undefined) throw withStack(this.#closed);
  }

  /**
   * The answer, which has this outcome or is one of refusal to the credential.
   *
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of the signal.
   */
  async ask(question: Question, limits: CallLimits): Promise<WireResponse> {
    this.assertOpen();
    const { key, waitMs = 0 } = question;
    const timeoutMs = limits.timeoutMs ?? waitMs + this.usualMs;
    const request: WireRequest = { v: 1, ...question, op: randomId() };
    const controller = new AbortController();
    const attempt = {
      signal: controller.signal,
      timeoutMs,
      rebind: false,
      clock: this.clock,
    };
    try {
      const text = await this.#whileOpen((closed) =>
        limited(
          () => Promise.race([ask(this.#backend, request, attempt), closed]),
          { ...limits, timeoutMs },
          this.clock,
          () => {
            throw new BackendError("No answer came in time.");
          },
        ),
      );
      if (!isAnswer(text)) throw unreadable(key);
      const answer: WireResponse = JSON.parse(text);
      if (answer.outcome === "refused") throw toLeaseError(answer as unknown as Failure, { key });
      return answer;
    } catch (error) {
      if (!BackendError.is(error)) throw withStack(error);
      const { verdict = NO_ANSWER, retryAfterMs } = error;
      throw toLeaseError({ ...verdict, retryAfterMs }, { key, cause: error });
    } finally {
      quietly(() => controller.abort());
    }
  }

  /** Asks several questions that are one call of a caller's: the limits are those of all together. */
  within({ timeoutMs, ...rest }: CallLimits): (question: Question) => Promise<WireResponse> {
    let leftMs = timeoutMs;
    return async (question) => {
      const since = this.clock.monotonic();
      const answer = await this.ask(
        question,
        leftMs === undefined ? rest : { ...rest, timeoutMs: leftMs },
      );
      leftMs = leftMs && Math.max(leftMs - (this.clock.monotonic() - since), 1);
      return answer;
    };
  }

  /** Lets time pass before the next question. */
  async rest(ms: number, signal: AbortSignal | undefined): Promise<void> {
    const limits = { ...(signal && { signal }), timeoutMs: ms };
    await this.#whileOpen((closed) =>
      limited<void>(
        () => closed,
        limits,
        this.clock,
        () => {},
      ),
    );
  }

  async #whileOpen<T>(wait: (closed: Promise<never>) => Promise<T>): Promise<T> {
    let end: (reason: unknown) => void = () => {};
    const closed = new Promise<never>((_, reject) => {
      end = reject;
    });
    this.#waits?.add(end);
    try {
      return await wait(closed);
    } finally {
      this.#waits?.delete(end);
    }
  }
}

export const NO_ANSWER = { code: "UNAVAILABLE", reason: "no-answer" } as const;

/** The error for an answer to something else. */
export function unreadable(key: string): LeaseError {
  return toLeaseError({ code: "UNAVAILABLE", reason: "unreadable-answer" }, { key });
}

/** The backend's own code may listen. */
function quietly(call: () => void): void {
  try {
    call();
  } catch {
    // The answer is there already.
  }
}
