import { printable } from "./printable.js";

/**
 * What went wrong, by what can be done about it. `docs/errors.md` has every reason.
 *
 * - `HELD`: another live holder has the key. Try again after `retryAfterMs`.
 * - `TIMEOUT`: the wait ran out while another held the key, which it does for `retryAfterMs` more
 *   at most unless it renews.
 * - `DONE`: the key's work is done and its result is kept: see `LeaseClient.runOnce`.
 * - `LOST`: the lease is gone, or was given up; `reason` says how. Stop the guarded work.
 * - `UNAVAILABLE`: the host could not be asked, or what it did is unknown.
 * - `DENIED`: the host refuses this caller. Mend the token, its scope or its permissions.
 * - `INVALID`: a bad argument, found before anything was sent, or a set-up in which no request can
 *   be carried out.
 */
export type LeaseErrorCode =
  | "HELD"
  | "DONE"
  | "LOST"
  | "UNAVAILABLE"
  | "TIMEOUT"
  | "INVALID"
  | "DENIED";

/** What a {@link LeaseError} knows beside its code. */
export interface LeaseErrorDetails {
  readonly key?: string | undefined;
  readonly holder?: string | undefined;
  readonly fence?: bigint | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly ageMs?: number | undefined;
  readonly reason?: string | undefined;
  readonly cause?: unknown;
}

// By these, an error is known as what it is whichever copy of this package or realm it is from.
const LEASE_ERROR = Symbol.for("leasehold.LeaseError");
const BACKEND_ERROR = Symbol.for("leasehold.BackendError");

/**
 * The only kind of error this package throws or rejects with, a caller's own abort reason and what
 * a guarded function throws apart.
 *
 * Its text names the key and never a token, a lease id or a holder.
 */
export class LeaseError extends Error {
  /** What can be done about it. */
  readonly code: LeaseErrorCode;
  /** The key concerned. */
  declare readonly key?: string;
  /** The fence of the lease concerned; of `DONE`, the one under which the work was done. */
  declare readonly fence?: bigint;
  /** `DONE`: how long ago, in milliseconds. */
  declare readonly ageMs?: number;
  /** When trying again may first help, in milliseconds from now. */
  declare readonly retryAfterMs?: number;
  /**
   * A stable word for the cause, such as `expired`, `revoked` or `no-answer`; of a bad argument,
   * its name.
   */
  declare readonly reason?: string;
  readonly #holder: string | undefined;

  constructor(code: LeaseErrorCode, message: string, details?: LeaseErrorDetails) {
    const { holder, cause, ...told } = details ?? {};
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LeaseError";
    this.code = code;
    this.#holder = holder;
    for (const name of TOLD) {
      const value = told[name];
      if (value !== undefined) {
        Object.defineProperty(this, name, { value, enumerable: true });
      }
    }
  }

  /**
   * Whether this is a {@link LeaseError}, of whichever copy of the package: `instanceof` says no to
   * one from another bundle or realm.
   */
  static is(error: unknown): error is LeaseError {
    return isBranded(error, LEASE_ERROR);
  }

  get [LEASE_ERROR](): true {
    return true;
  }

  /** `HELD`, `TIMEOUT`: who has the key, if known. Kept out of what is printed or serialised. */
  get holder(): string | undefined {
    return this.#holder;
  }

  /** What may be logged: all but the holder, the fence in decimal. */
  toJSON(): Record<string, unknown> {
    const { name, message, ...details } = this;
    return { name, message, ...details, fence: this.fence?.toString() };
  }
}

const TOLD = ["key", "fence", "ageMs", "retryAfterMs", "reason"] as const;

/** What a {@link BackendError} says beside its message. */
export interface BackendErrorDetails {
  /**
   * `never` only if the request certainly did not reach the host. When in doubt, `unknown`: it may
   * have been carried out.
   */
  readonly delivery: "never" | "unknown";
  /** How long the host asked to be left alone, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /**
   * What the caller is to be told at once, where no other attempt could mend it and the request was
   * certainly not carried out.
   */
  readonly verdict?: Verdict | undefined;
  readonly cause?: unknown;
}

/** What a failure is that no other attempt could mend. */
export interface Verdict {
  readonly code: "DENIED" | "INVALID" | "UNAVAILABLE";
  /** A stable word. */
  readonly reason: string;
}

/**
 * What a {@link LeaseBackend} rejects with when a request got no answer. Its message is told to
 * people, so it must be without secrets.
 *
 * Anything else that it rejects with counts as `unknown`, unless it shows a mistake in the program.
 */
export class BackendError extends Error {
  readonly delivery: "never" | "unknown";
  /** How long the host asked to be left alone, in milliseconds. */
  declare readonly retryAfterMs?: number;
  /** What the caller is to be told at once. */
  declare readonly verdict?: Verdict;

  constructor(message: string, details?: BackendErrorDetails) {
    const { delivery = "unknown", retryAfterMs, verdict, cause } = details ?? {};
    super(message, cause === undefined ? undefined : { cause });
    this.name = "BackendError";
    this.delivery = delivery;
    if (retryAfterMs !== undefined) {
      this.retryAfterMs = retryAfterMs;
    }
    if (verdict !== undefined) {
      this.verdict = verdict;
    }
  }

  /** Whether this is a {@link BackendError}, of whichever copy of the package. */
  static is(error: unknown): error is BackendError {
    return isBranded(error, BACKEND_ERROR);
  }

  get [BACKEND_ERROR](): true {
    return true;
  }
}

function isBranded(error: unknown, brand: symbol): boolean {
  try {
    return typeof error === "object" && error !== null && Reflect.get(error, brand) === true;
  } catch {
    return false;
  }
}

/** A failure as the core and the hosts tell of it. */
export interface Failure {
  readonly code: LeaseErrorCode;
  readonly reason: string;
  readonly message?: string | undefined;
  readonly holder?: string | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly ageMs?: number | undefined;
}

/** The error for a failure. What a host says of it is shown as far as it can be printed. */
export function toLeaseError(
  failure: Failure,
  about: { readonly key: string; readonly fence?: bigint | undefined; readonly cause?: unknown },
): LeaseError {
  const { code, message, holder, retryAfterMs, ageMs } = failure;
  const reason = printable(failure.reason, 80);
  const failed = BackendError.is(about.cause) ? about.cause : undefined;
  const said = printable(message || failed?.message || "", 400);
  // What is said of a host's silence says it all.
  const text =
    code === "UNAVAILABLE" && said !== ""
      ? `The lease on ${JSON.stringify(about.key)} (${reason}): ${said}`
      : `${sentence(code, about.key, reason)} ${said}`.trimEnd();
  // What a backend's failure says is said: its own cause is the next to look at.
  const cause = failed?.cause ?? about.cause;
  return new LeaseError(code, text, {
    ...about,
    ...{ cause, reason, holder, retryAfterMs, ageMs },
  });
}

function sentence(code: LeaseErrorCode, key: string, reason: string): string {
  const name = JSON.stringify(key);
  switch (code) {
    case "HELD":
      return `The lease on ${name} is held by ${other(reason)}.`;
    case "DONE":
      return `The work under the lease on ${name} is done.`;
    case "TIMEOUT":
      return `The wait for the lease on ${name} ran out while ${other(reason)} had it.`;
    case "LOST":
      return `The lease on ${name} is not held any more (${reason}).`;
    case "UNAVAILABLE":
      return `The host of the lease on ${name} could not be asked, or what it did is unknown (${reason}).`;
    case "DENIED":
      return `The host of the lease on ${name} refuses this caller (${reason}).`;
    case "INVALID":
      return `The lease on ${name} can't be asked for in this way (${reason}).`;
  }
}

function other(reason: string): string {
  return reason === "own-lease" ? "this very client" : "another holder";
}

/** The error for a bad argument. */
export function invalid(name: string, expected: string, cause?: unknown): LeaseError {
  return new LeaseError("INVALID", `${name} ${expected}`, { reason: name, cause });
}

/**
 * The error as it is told now. It was made where an answer came in or a timer fired: from here on
 * its stack shows who awaited it.
 */
export function withStack(error: unknown): unknown {
  if (LeaseError.is(error)) {
    Error.captureStackTrace?.(error, withStack);
  }
  return error;
}

/**
 * What a method's call comes to, with the caller in an error's stack. Nobody has to handle the
 * rejection, which leaves an engine without an `await` to find the caller by.
 */
export function unattended<T>(
  method: (...args: never[]) => unknown,
  run: () => Promise<T>,
): Promise<T> {
  const here: { stack?: string } = {};
  Error.captureStackTrace?.(here, method);
  const outcome = run().catch((error) => {
    if (LeaseError.is(error) && here.stack !== undefined) {
      error.stack = `${error}${here.stack.slice(here.stack.indexOf("\n"))}`;
    }
    throw error;
  });
  outcome.catch(() => {});
  return outcome;
}
