import type { BackendError } from "../lease/errors.js";
import { mistake } from "../lease/failure.js";

/** What a client does not send since nobody has connected it, or it has been closed. */
export function closed(): BackendError {
  return mistake(
    "The client is closed: connect it first, and close it when the leases are released.",
    undefined,
    { code: "INVALID", reason: "closed-client" },
  );
}
