/** What requests by RPC to a Durable Object and to a Worker have in common. */

import { BackendError } from "../lease/errors.js";
import { failureOf, mistake } from "../lease/failure.js";

/** After this long an overloaded object is tried again. */
const OVERLOADED_MS = 1_000;

/** The verdict on what a binding leads to. */
export const UNSUITED = { code: "INVALID", reason: "unsuited-object" } as const;

/** The answer, or a rejection once it is awaited no more. A signal can't travel by RPC. */
export function answered<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", leave));
  });
}

/**
 * Why `who` gave no answer. The runtime marks the errors of an object that wants to be left alone;
 * `misbound` has what it says of a binding that leads elsewhere.
 */
export function failure(
  error: unknown,
  who: string,
  misbound: readonly (readonly [RegExp, string])[],
): BackendError {
  const message = String(Reflect.get(Object(error), "message"));
  const elsewhere = misbound.find(([words]) => words.test(message));
  if (elsewhere !== undefined) {
    return mistake(elsewhere[1], error, UNSUITED);
  }
  if (Reflect.get(Object(error), "overloaded") === true) {
    return new BackendError(`${who} is overloaded.`, {
      delivery: "unknown",
      retryAfterMs: OVERLOADED_MS,
      cause: error,
    });
  }
  return failureOf(error, who);
}
