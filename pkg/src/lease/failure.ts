import { BackendError, type Verdict } from "./errors.js";
import { classOf, wordsOf } from "./printable.js";

/**
 * How engines put it when a program is wrong. Everything else is taken for something that passes:
 * `fetch` rejects with a TypeError for a lost connection, too.
 */
const MISTAKE = new RegExp(
  [
    "is not a (function|constructor|object)",
    "is not (defined|iterable|implemented)",
    "illegal invocation",
    "cannot (read|set|destructure|convert)",
    "can't access",
    "(undefined|null|none) is not an object",
    "AbortSignal",
    "invalid (URL|header|argument)",
    "before initialization",
  ].join("|"),
  "i",
);

const CLASSES = new Set(["TypeError", "ReferenceError", "SyntaxError"]);

const BROKEN: Verdict = { code: "INVALID", reason: "broken-backend" };

/**
 * What an exception in place of an answer means: a mistake in the program, which every other
 * attempt would repeat, or something that may pass.
 *
 * @param what - What was tried, as a sentence's beginning.
 */
export function failureOf(error: unknown, what: string): BackendError {
  try {
    if (BackendError.is(error)) return error;
    return isMistake(error)
      ? mistake(`${what} threw ${classOf(error)}: ${wordsOf(error)}`, error)
      : new BackendError(`${what} gave no answer: ${classOf(error)}.`, {
          delivery: "unknown",
          cause: error,
        });
  } catch {
    // Not even to be looked at.
    return new BackendError(`${what} gave no answer.`, { delivery: "unknown" });
  }
}

/** A failure that is told at once, since nothing but a change of the program mends it. */
export function mistake(message: string, cause: unknown, verdict = BROKEN): BackendError {
  return new BackendError(message, { delivery: "never", verdict, cause });
}

function isMistake(error: unknown): boolean {
  const { name, message } = Object(error) as Record<string, unknown>;
  return CLASSES.has(String(name)) && MISTAKE.test(String(message));
}
