import type { ReleaseResult } from "./state.js";

/** How the release of several leases ended: each key is in one of the two lists. */
export interface Released {
  /** Keys that their host has back. */
  readonly released: readonly string[];
  /**
   * Keys of leases that had been lost before, or whose release no host has confirmed: free by the
   * end of the term at the latest.
   */
  readonly unconfirmed: readonly string[];
}

/** Sorts keys by how their release ended. */
export function released(results: readonly (readonly [string, ReleaseResult])[]): Released {
  const keys = (isReleased: boolean) =>
    results.filter(([, result]) => result.released === isReleased).map(([key]) => key);
  return { released: keys(true), unconfirmed: keys(false) };
}
