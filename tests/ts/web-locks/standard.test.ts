import { type Locks, suite } from "./suite.ts";

/**
 * Node's own lock manager, as a witness that the suite asks for what the standard says. It keeps the
 * lock if the callback throws at once, calls back before `request` returns, and goes on showing
 * requests that were aborted.
 */
const { locks } = globalThis.navigator as unknown as { locks: Locks };
suite("Node's own", async () => ({ one: locks, other: locks }), [
  "what the callback throws is what the request rejects with, and the lock is free",
  "the callback is never called before request has returned",
  "a signal that aborts while the request waits ends it, and no other",
]);
