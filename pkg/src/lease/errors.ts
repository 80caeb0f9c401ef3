/**
 * What went wrong, by what can be done about it.
 *
 * - `HELD`: another live holder has the key. Try again after `retryAfterMs`.
 * - `TIMEOUT`: the wait ran out while another held the key.
 * - `LOST`: the lease is gone, or was given up; `reason` says how. Stop the guarded work.
 * - `UNAVAILABLE`: the host could not be asked, or what it did is unknown.
 * - `DENIED`: the host refuses this caller. Mend the token or its scope.
 * - `INVALID`: a bad argument, found before anything was sent, or a request that the host calls
 *   malformed.
 */
export type LeaseErrorCode = "HELD" | "LOST" | "UNAVAILABLE" | "TIMEOUT" | "INVALID" | "DENIED";

/** What a {@link LeaseError} knows beside its code. */
export interface LeaseErrorDetails {
  readonly key?: string | undefined;
  readonly holder?: string | undefined;
  readonly fence?: bigint | undefined;
  readonly retryAfterMs?: number | undefined;
  readonly reason?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The only kind of error this package rejects with, a caller's own abort reason apart.
 *
 * Its text names the key and never a token, a lease id or a holder.
 */
export class LeaseError extends Error {
  /** What can be done about it. */
  readonly code: LeaseErrorCode;
  /** The key concerned. */
  declare readonly key?: string;
  /** The fence of the lease concerned. */
  declare readonly fence?: bigint;
  /** When trying again may first help, in milliseconds from now. */
  declare readonly retryAfterMs?: number;
  /** A stable word for the cause, such as `expired`, `revoked` or `no-answer`. */
  declare readonly reason?: string;
  readonly #holder: string | undefined;

  constructor(code: LeaseErrorCode, message: string, details: LeaseErrorDetails = {}) {
    const { key, holder, fence, retryAfterMs, reason, cause } = details;
    super(message, cause === undefined ? undefined : { cause });
    this.name = "LeaseError";
    this.code = code;
    this.#holder = holder;
    for (const [name, value] of Object.entries({ key, fence, retryAfterMs, reason })) {
      if (value !== undefined) {
        Object.defineProperty(this, name, { value, enumerable: true });
      }
    }
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

/**
 * What a {@link LeaseBackend} rejects with when a request got no answer.
 *
 * Anything else that it rejects with counts as `unknown`.
 */
export class BackendError extends Error {
  /**
   * `never` only if the request certainly did not reach the host. When in doubt, `unknown`: it may
   * have been carried out.
   */
  readonly delivery: "never" | "unknown";
  /** How long the host asked to be left alone, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(
    message: string,
    details: {
      readonly delivery: "never" | "unknown";
      readonly retryAfterMs?: number | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "BackendError";
    this.delivery = details.delivery;
    if (details.retryAfterMs !== undefined) {
      this.retryAfterMs = details.retryAfterMs;
    }
  }
}

/** A failure as the core and the hosts tell of it. */
export interface Failure {
  readonly code: LeaseErrorCode;
  readonly reason: string;
  readonly message?: string | undefined;
  readonly holder?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

/** The error for a failure. */
export function toLeaseError(
  failure: Failure,
  about: { readonly key: string; readonly fence?: bigint | undefined; readonly cause?: unknown },
): LeaseError {
  const { code, reason, message, holder, retryAfterMs } = failure;
  const text = message
    ? `${sentence(code, about.key, reason)} ${message}`
    : sentence(code, about.key, reason);
  return new LeaseError(code, text, { ...about, reason, holder, retryAfterMs });
}

function sentence(code: LeaseErrorCode, key: string, reason: string): string {
  const name = JSON.stringify(key);
  switch (code) {
    case "HELD":
      return `The lease on ${name} is held by another holder.`;
    case "TIMEOUT":
      return `The wait for the lease on ${name} ran out while another holder had it.`;
    case "LOST":
      return `The lease on ${name} is not held any more (${reason}).`;
    case "UNAVAILABLE":
      return `The host of the lease on ${name} could not be asked, or what it did is unknown (${reason}).`;
    case "DENIED":
      return `The host of the lease on ${name} refuses this caller (${reason}).`;
    case "INVALID":
      return `The host of the lease on ${name} calls the request malformed (${reason}).`;
  }
}

/** Runs what may throw the core's record of a bad argument, and throws `INVALID` instead. */
export function checked<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (isInvalid(error)) {
      throw invalid(error.field, error.message);
    }
    throw error;
  }
}

/** The error for a bad argument. */
export function invalid(field: string, expected: string): LeaseError {
  return new LeaseError("INVALID", `${field} ${expected}`, { reason: field });
}

function isInvalid(error: unknown): error is { field: string; message: string } {
  return typeof error === "object" && error !== null && "field" in error && "message" in error;
}
