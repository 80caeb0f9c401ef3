import { signal as abortSignal, callback as callable, kindOf } from "../../lease/check.js";
import type { Lock } from "./lock.js";

/** Whether others may hold the lock, too. */
export type LockMode = "exclusive" | "shared";

/** How a lock is to be had. */
export interface LockOptions {
  /** `shared`: beside others that are shared. `exclusive` by default. */
  readonly mode?: LockMode | undefined;
  /** Calls back with `null`, instead of waiting, if the lock can't be had at once. */
  readonly ifAvailable?: boolean | undefined;
  /** Breaks the locks that are held, and goes before whoever waits. */
  readonly steal?: boolean | undefined;
  /** Ends the waiting, and only that. */
  readonly signal?: AbortSignal | undefined;
}

/** Is given the lock, or `null` where it was asked for `ifAvailable` and is not. */
export type LockGrantedCallback<T> = (lock: Lock | null) => T;

/** A request whose arguments are as the standard wants them. */
export interface LockRequest {
  readonly name: string;
  readonly mode: LockMode;
  readonly ifAvailable: boolean;
  readonly steal: boolean;
  readonly signal: AbortSignal | undefined;
  readonly callback: LockGrantedCallback<unknown>;
}

/**
 * Takes the arguments of `request` as a browser does: what can be converted is, and what contradicts
 * itself is refused.
 *
 * @throws TypeError; DOMException `NotSupportedError`; the reason of a signal that has aborted.
 */
export function requestOf(args: readonly unknown[]): LockRequest {
  if (args.length < 2) {
    throw new TypeError("request() takes a name, options if there are any, and a callback");
  }
  const name = `${args[0]}`;
  const [given, callback] = args.length === 2 ? [undefined, args[1]] : [args[1], args[2]];
  const { mode, ifAvailable, steal, signal } = optionsOf(given);
  if (!callable.is(callback)) {
    throw new TypeError(`the callback must be a function, not ${kindOf(callback)}`);
  }
  if (name.startsWith("-")) {
    throw unsupported("a name must not begin with a hyphen");
  }
  if (steal && ifAvailable) {
    throw unsupported("steal and ifAvailable exclude each other");
  }
  if (steal && mode !== "exclusive") {
    throw unsupported("steal is for exclusive locks");
  }
  if (signal !== undefined && (steal || ifAvailable)) {
    throw unsupported("with steal or ifAvailable nothing is waited for that a signal could end");
  }
  if (signal?.aborted) {
    throw signal.reason;
  }
  return {
    ...{ name, mode, ifAvailable, steal, signal },
    callback: callback as LockGrantedCallback<unknown>,
  };
}

function optionsOf(given: unknown): Pick<LockRequest, "mode" | "ifAvailable" | "steal" | "signal"> {
  if (given !== undefined && typeof given !== "function" && typeof given !== "object") {
    throw new TypeError(`the options must be an object, not ${kindOf(given)}`);
  }
  const options = (given ?? {}) as Record<keyof LockOptions, unknown>;
  const ifAvailable = Boolean(options.ifAvailable);
  const mode = options.mode === undefined ? "exclusive" : `${options.mode}`;
  if (mode !== "exclusive" && mode !== "shared") {
    throw new TypeError("mode must be exclusive or shared");
  }
  const { signal } = options;
  if (signal !== undefined && !isSignal(signal)) {
    throw new TypeError(`signal must be an AbortSignal, not ${kindOf(signal)}`);
  }
  return { ifAvailable, mode, signal, steal: Boolean(options.steal) };
}

function isSignal(value: unknown): value is AbortSignal {
  try {
    return abortSignal.is(value);
  } catch {
    return false;
  }
}

function unsupported(why: string): DOMException {
  return new DOMException(`The request is not supported: ${why}.`, "NotSupportedError");
}
