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

/**
 * What an exception in place of an answer means: a mistake in the program, which every other
 * attempt would repeat, or something that may pass.
 *
 * @param who - Who was asked, as a sentence's beginning.
 * @param carrier - The option for what carried the request. Carriers put what they carry into their
 * errors, and with it secrets, so that theirs is told of and is no `cause`.
 */
export function failureOf(error: unknown, who: string, carrier?: string): BackendError {
  try {
    if (BackendError.is(error)) return error;
    const cause = carrier === undefined ? error : undefined;
    const reason = carrier ?? "backend";
    return isMistake(error)
      ? mistake(`${reason} threw ${classOf(error)}: ${wordsOf(error)}`, cause, {
          code: "INVALID",
          reason,
        })
      : new BackendError(`${who} gave no answer: ${classOf(error)}.`, {
          delivery: "unknown",
          cause,
        });
  } catch {
    // Not even to be looked at.
    return new BackendError(`${who} gave no answer.`, { delivery: "unknown" });
  }
}

/** A failure that is told at once, since nothing but a change of the program mends it. */
export function mistake(message: string, cause: unknown, verdict: Verdict): BackendError {
  return new BackendError(message, { delivery: "never", verdict, cause });
}

function isMistake(error: unknown): boolean {
  const { name, message } = Object(error) as Record<string, unknown>;
  return CLASSES.has(String(name)) && MISTAKE.test(String(message));
}
