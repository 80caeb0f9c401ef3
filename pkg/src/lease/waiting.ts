import type { Clock } from "./clock.js";
import { invalid } from "./errors.js";

/** How long a caller waits for one call, which never takes longer. */
export interface CallLimits {
  /** Ends the waiting at once, with the signal's reason. */
  readonly signal?: AbortSignal;
  /** The longest that the call may take, in milliseconds, whatever the host does. */
  readonly timeoutMs?: number;
}

/**
 * What `begin` comes to; earlier, the reason of the signal, or what `late` returns or throws. Does
 * not even begin if the signal has aborted.
 */
export async function limited<T>(
  begin: () => Promise<T>,
  { signal, timeoutMs }: CallLimits,
  clock: Clock,
  late: () => T,
): Promise<T> {
  let timer: unknown;
  let stop = () => {};
  try {
    return await new Promise<T>((resolve, reject) => {
      stop = onAbort(signal, reject);
      if (signal?.aborted) return;
      if (timeoutMs !== undefined) {
        timer = clock.setTimeout(() => resolve(new Promise((end) => end(late()))), timeoutMs);
      }
      begin().then(resolve, reject);
    });
  } finally {
    stop();
    clock.clearTimeout(timer);
  }
}

/** Aborts with the first of several signals, whatever library they are of. */
export class FirstAbort {
  readonly #first = new AbortController();
  readonly #stops: (() => void)[] = [];

  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    for (const signal of signals) this.add(signal);
  }

  get signal(): AbortSignal {
    return this.#first.signal;
  }

  add(signal: AbortSignal | undefined): void {
    this.#stops.push(onAbort(signal, (reason) => this.#first.abort(reason)));
  }

  /** Ends the listening. */
  stop(): void {
    for (const stop of this.#stops) stop();
  }
}

/**
 * Calls back with the signal's reason when it aborts, or at once if it has.
 *
 * @returns What ends the listening.
 */
export function onAbort(
  signal: AbortSignal | undefined,
  abort: (reason: unknown) => void,
): () => void {
  if (signal === undefined) {
    return () => {};
  }
  const aborted = () => abort(signal.reason);
  let isAborted: boolean;
  try {
    isAborted = signal.aborted;
    if (!isAborted) signal.addEventListener("abort", aborted, { once: true });
  } catch (cause) {
    throw invalid("signal", "must be an AbortSignal that can be listened to", cause);
  }
  if (isAborted) aborted();
  return () => {
    try {
      signal.removeEventListener("abort", aborted);
    } catch {
      // Nobody is hurt by a listener that finds nothing to do.
    }
  };
}
