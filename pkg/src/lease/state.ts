import type { LeaseError } from "./errors.js";

/** Where a lease stands. */
export type LeaseState =
  | "held"
  | "releasing"
  | "released"
  | "finished"
  | "transferred"
  | "detached"
  | "lost";

/** How a release ended. */
export interface ReleaseResult {
  /** Whether the host has the lease back, by this release. */
  readonly released: boolean;
  /** Why not: how the lease had ended before, why the host refused, or `unconfirmed`. */
  readonly reason?: string;
  /** The host's refusal: what has to be changed. The lease ends with its term. */
  readonly cause?: LeaseError;
}
