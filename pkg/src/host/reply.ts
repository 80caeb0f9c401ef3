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

/** A response of the protocol, with the status that fits it: what is no refusal is a result. */
export function answer(response: WireResponse): Response {
  if (response.code === "INVALID") {
    return json(400, response);
  }
  if (response.code === "DENIED") {
    return response.reason === "unauthorized"
      ? json(401, response, { "www-authenticate": "Bearer" })
      : json(403, response);
  }
  if (response.code === "UNAVAILABLE") {
    return json(503, response, retryAfter(response));
  }
  return json(200, response);
}

function retryAfter({ retryAfterMs }: WireResponse): Record<string, string> {
  return retryAfterMs === undefined
    ? {}
    : { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
}

/** A response of the protocol as JSON over HTTP, for nobody to keep. */
export function json(
  status: number,
  response: WireResponse,
  headers: Record<string, string> = {},
): Response {
  return Response.json(response, { status, headers: { "cache-control": "no-store", ...headers } });
}

/** To any method but the one allowed. */
export function methodNotAllowed(allowed: string): Response {
  const refusal = refused("INVALID", "method-not-allowed", `The method must be ${allowed}.`);
  return json(405, refusal, { allow: allowed });
}
