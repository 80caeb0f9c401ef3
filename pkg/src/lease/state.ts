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
  /** Why not: `unconfirmed`, or how the lease had ended before. */
  readonly reason?: string;
}
