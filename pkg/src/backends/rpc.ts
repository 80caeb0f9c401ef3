/** What requests by RPC to a Durable Object and to a Worker have in common. */

import { BackendError } from "../lease/errors.js";

/** After this long an overloaded object is tried again. */
const OVERLOADED_MS = 1_000;

/** The answer, or a rejection once it is awaited no more. A signal can't travel by RPC. */
export function abandoned<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", leave));
  });
}

/** The runtime marks the errors of an object that wants to be left alone. */
export function failure(error: unknown): BackendError {
  const cause = error instanceof BackendError ? error.cause : error;
  const isOverloaded =
    typeof cause === "object" && cause !== null && "overloaded" in cause && cause.overloaded;
  if (error instanceof BackendError && !isOverloaded) {
    return error;
  }
  return new BackendError("The lease's Durable Object gave no answer.", {
    delivery: "unknown",
    retryAfterMs: isOverloaded ? OVERLOADED_MS : undefined,
    cause,
  });
}
