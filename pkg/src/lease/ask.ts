import type { CallOptions, LeaseBackend, WireRequest, WireResponse } from "./backend.js";
import { failureOf } from "./failure.js";

/**
 * One attempt to have a request answered. The answer is a copy of what can travel: no getter of
 * somebody else's runs when it is read.
 *
 * @throws BackendError, whatever the backend throws.
 */
export async function ask(
  backend: LeaseBackend,
  request: WireRequest,
  options: CallOptions,
): Promise<WireResponse> {
  try {
    return Object(JSON.parse(JSON.stringify(await backend.call(request, options)) ?? "{}"));
  } catch (error) {
    throw failureOf(error, "The backend");
  }
}
