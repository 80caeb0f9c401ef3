import type { WireResponse } from "../lease/backend.js";

/** A refusal as a response of the protocol. */
export function refused(
  code: "DENIED" | "INVALID" | "UNAVAILABLE",
  reason: string,
  message: string,
  retryAfterMs?: number,
): WireResponse {
  const refusal = { v: 1, outcome: "refused", code, reason, message } as const;
  return retryAfterMs === undefined ? refusal : { ...refusal, retryAfterMs };
}

/** A response of the protocol as JSON over HTTP, for nobody to keep. */
export function json(
  status: number,
  response: WireResponse,
  headers: Record<string, string> = {},
): Response {
  return Response.json(response, { status, headers: { "cache-control": "no-store", ...headers } });
}

/** To a body that is no JSON object. */
export function malformedJson(): Response {
  const refusal = refused("INVALID", "malformed-json", "The body must be one JSON object.");
  return json(400, refusal);
}

/** To any method but the one allowed. */
export function methodNotAllowed(allowed: string): Response {
  const refusal = refused("INVALID", "method-not-allowed", `The method must be ${allowed}.`);
  return json(405, refusal, { allow: allowed });
}
