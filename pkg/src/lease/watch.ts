import { LIST, type ListOptions, WATCH, type WatchOptions } from "./arguments.js";
import { optionsOf } from "./check.js";
import { invalid, LeaseError } from "./errors.js";
import { type KeyState, keyStateOf } from "./key-state.js";
import { type Questions, unreadable } from "./questions.js";

/** How long a host is asked to wait for a change. */
const POLL_MS = 20_000;

const DEFAULT_SILENCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** A key's states, as they come about. Bad options are told at the call. */
export function watch(
  questions: Questions,
  key: string,
  options: WatchOptions | undefined,
): AsyncIterable<KeyState> {
  return states(questions, key, optionsOf(WATCH, options));
}

async function* states(
  questions: Questions,
  key: string,
  { after, signal, timeoutMs = DEFAULT_SILENCE_MS }: WatchOptions,
): AsyncGenerator<KeyState, void> {
  let known = after;
  for (;;) {
    const { state } = await patiently(questions, timeoutMs, signal, (leftMs) => {
      // Half of the time is left for the answer to come in.
      const waitMs = Math.min(POLL_MS, Math.ceil(leftMs / 2));
      const next = { operation: "watch", key, waitMs } as const;
      const question = known === undefined ? next : { ...next, after: known };
      const mostMs = Math.min(leftMs, waitMs + questions.usualMs);
      return questions.ask(question, { ...(signal && { signal }), timeoutMs: mostMs });
    });
    if (state === undefined) throw unreadable(key);
    if (state.revision !== known) {
      known = state.revision;
      yield keyStateOf(state);
    }
  }
}

/** Asks again, after a pause, while there is no answer and the silence may be one that passes. */
async function patiently<T>(
  questions: Questions,
  silenceMs: number,
  signal: AbortSignal | undefined,
  ask: (leftMs: number) => Promise<T>,
): Promise<T> {
  const { clock } = questions;
  const end = clock.monotonic() + silenceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await ask(Math.max(end - clock.monotonic(), 1));
    } catch (error) {
      const mayPass = LeaseError.is(error) && error.code === "UNAVAILABLE";
      const restMs = Math.max(pauseMs, (mayPass && error.retryAfterMs) || 0);
      if (!mayPass || clock.monotonic() + restMs >= end) throw error;
      await questions.rest(restMs, signal);
    }
  }
}

/** The states of the keys that a host has. Bad options, and a host that can't, are told at the call. */
export function list(
  questions: Questions,
  options: ListOptions | undefined,
): AsyncIterable<KeyState> {
  const { prefix = "", ...limits } = optionsOf(LIST, options);
  if (questions.capabilities.list !== true) {
    throw invalid("list", "is not among what this backend can do: see its capabilities");
  }
  return listed(questions, prefix, limits);
}

async function* listed(
  questions: Questions,
  prefix: string,
  limits: ListOptions,
): AsyncGenerator<KeyState, void> {
  const ask = questions.within(limits);
  let after: string | undefined;
  do {
    const next = { operation: "list", key: "", prefix } as const;
    const answer = await ask(after === undefined ? next : { ...next, after });
    if (answer.states === undefined) throw unreadable(prefix);
    for (const state of answer.states) yield keyStateOf(state);
    after = answer.after;
  } while (after !== undefined);
}
