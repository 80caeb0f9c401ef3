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

/** Ends the sessions, and says what became of their leases. */
export async function closeAll(
  sessions: Iterable<Session>,
  clock: Clock,
  timeoutMs: number | undefined,
): Promise<Released> {
  const late = deferred<ReleaseResult>();
  const timer =
    timeoutMs === undefined
      ? undefined
      : clock.setTimeout(() => late.resolve({ released: false, reason: "unconfirmed" }), timeoutMs);
  const results = [...sessions].map(async (session) => {
    const { key, hasToRelease } = session;
    const result = await Promise.race([session.close(closed()), late.promise]);
    return hasToRelease && result.reason !== "transferred" ? [[key, result] as const] : [];
  });
  try {
    return released((await Promise.all(results)).flat());
  } finally {
    clock.clearTimeout(timer);
  }
}
