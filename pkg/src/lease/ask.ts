import type { CallOptions, LeaseBackend, WireRequest } from "./backend.js";
import { failureOf } from "./failure.js";

/**
 * One attempt to have a request answered: with JSON, since no getter of somebody else's is to run
 * when the answer is read.
 *
 * @throws BackendError, whatever the backend throws.
 */
export async function ask(
  backend: LeaseBackend,
  request: WireRequest,
  options: CallOptions,
): Promise<string> {
  try {
    return JSON.stringify(await backend.call(request, options)) ?? "null";
  } catch (error) {
    throw failureOf(error, "The backend");
  }
}
