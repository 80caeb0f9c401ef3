/** Answers over HTTP: a response of the protocol, with the status that fits it. */

import type { WireResponse } from "../wire.js";

/** A response of the protocol as JSON. Nothing may keep it. */
export function json(
  status: number,
  response: WireResponse,
  headers: Record<string, string> = {},
): Response {
  return Response.json(response, { status, headers: { "cache-control": "no-store", ...headers } });
}

/** A refusal as a response of the protocol. */
export function refused(
  code: "DENIED" | "INVALID" | "UNAVAILABLE",
  reason: string,
  message: string,
): WireResponse {
  return { v: 1, outcome: "refused", code, reason, message };
}

/** The body is no JSON. */
export function malformedJson(): Response {
  return json(400, refused("INVALID", "malformed-json", "The body must be one JSON object."));
}

/** Only `allowed` is. */
export function methodNotAllowed(allowed: string): Response {
  const refusal = refused("INVALID", "method-not-allowed", `The method must be ${allowed}.`);
  return json(405, refusal, { allow: allowed });
}
