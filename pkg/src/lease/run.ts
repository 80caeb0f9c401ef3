import { argument, callback } from "./check.js";

/** What a guarded function runs under. */
interface Held extends AsyncDisposable {
  readonly signal: AbortSignal;
}

type Guarded<H, T> = (held: H) => T | Promise<T>;

/** The arguments of a `run` after what it is about: options may be left out. */
export type RunArguments<O, H, T> = [fn: Guarded<H, T>] | [options: O, fn: Guarded<H, T>];

/** Acquires, runs `fn`, and gives back: what every `run` does. */
export async function run<O, H extends Held, T>(
  acquire: (options: O | undefined) => Promise<H>,
  rest: RunArguments<O, H, T>,
): Promise<T> {
  const [options, fn] = rest.length === 1 ? [undefined, rest[0]] : rest;
  argument("fn", callback, fn);
  const held = await acquire(options);
  try {
    const result = await fn(held);
    const { signal } = held;
    if (signal.aborted) {
      throw signal.reason;
    }
    return result;
  } finally {
    await held[Symbol.asyncDispose]();
  }
}
