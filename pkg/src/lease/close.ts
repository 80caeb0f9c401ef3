import type { Clock } from "./clock.js";
import { deferred } from "./deferred.js";
import { LeaseError } from "./errors.js";
import { type Released, released } from "./released.js";
import type { Session } from "./session.js";
import type { ReleaseResult } from "./state.js";

/** What a closed client answers to every call, and to the waits that closing it cut short. */
export function closed(): LeaseError {
  return new LeaseError("INVALID", "The client is closed.", { reason: "closed" });
}

/** Longer than anything takes that is under way when a client closes. */
const LONGEST_MS = 30_000;

/** How a session ends that a client closes. */
export interface Ending {
  readonly key: string;
  readonly hasToRelease: boolean;
  readonly result: Promise<ReleaseResult>;
}

/** Ends the sessions. */
export function endAll(sessions: Iterable<Session>): readonly Ending[] {
  return [...sessions].map((session) => {
    const { key, hasToRelease } = session;
    return { key, hasToRelease, result: session.close(closed()) };
  });
}

/** What has become of the leases, as far as the caller waits for that. */
export async function endedWithin(
  endings: readonly Ending[],
  clock: Clock,
  timeoutMs = LONGEST_MS,
): Promise<Released> {
  const late = deferred<ReleaseResult>();
  // Also keeps the process up for as long as it is waited for what is tidied up.
  const timer = clock.setTimeout(
    () => late.resolve({ released: false, reason: "unconfirmed" }),
    timeoutMs,
  );
  const results = endings.map(async ({ key, hasToRelease, result: ended }) => {
    const result = await Promise.race([ended, late.promise]);
    return hasToRelease && result.reason !== "transferred" ? [[key, result] as const] : [];
  });
  try {
    return released((await Promise.all(results)).flat());
  } finally {
    clock.clearTimeout(timer);
  }
}
