import { LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";
import { LockManager } from "leasehold/web-locks";

/** A lock manager goes wherever the browser's own does. */
export const locks: Pick<typeof navigator.locks, "request" | "query"> = new LockManager(
  new LeaseClient(memory()),
);
