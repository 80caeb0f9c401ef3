// As a namespace: where the runtime has no such function, this is no error.
import * as workers from "cloudflare:workers";

/** Keeps the invocation of whoever calls alive until the promise settles. */
export const ambientWaitUntil: ((promise: Promise<unknown>) => void) | undefined = Reflect.get(
  workers,
  "waitUntil",
);
