/** The stand-alone host's face over HTTPS. */

import { OPERATIONS, type WireResponse } from "../lease/backend.js";
import { readRecord } from "./body.js";
import { denial } from "./instance.js";
import { json, malformedJson, methodNotAllowed, refused } from "./reply.js";

/** No request is larger. */
const MAX_BODY_BYTES = 32_768;

/** What the face stands before. */
export interface Behind {
  /** The secret with the tokens. */
  readonly tokens: string | undefined;
  /** Why no host would carry out this request, if that is so. */
  refusal(request: unknown): WireResponse | undefined;
  /** Carries out a request that is valid. */
  call(request: Record<string, unknown>): Promise<WireResponse>;
}

/** Answers one HTTP request. */
export async function face(request: Request, behind: Behind): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") {
    return request.method === "GET" ? health() : methodNotAllowed("GET");
  }
  const operation = pathname.startsWith("/v1/") ? pathname.slice("/v1/".length) : "";
  if (!OPERATIONS.some((known) => known === operation)) {
    return json(404, refused("INVALID", "not-found", "There is nothing at this path."));
  }
  if (request.method !== "POST") {
    return methodNotAllowed("POST");
  }
  try {
    return await operate(request, operation, behind);
  } catch (error) {
    return outcomeUnknown(error);
  }
}

async function operate(request: Request, operation: string, behind: Behind): Promise<Response> {
  const bearer = bearerOf(request);
  // Before the body is looked at: strangers get no work done.
  const stranger = denial(behind.tokens, bearer);
  if (stranger !== undefined) {
    return answer(stranger);
  }
  const body = await readRecord(request, MAX_BODY_BYTES);
  if (body === "too-large") {
    const message = `The body must not be larger than ${MAX_BODY_BYTES} bytes.`;
    return json(413, refused("INVALID", "body-too-large", message));
  }
  if (body === "malformed") {
    return malformedJson();
  }
  return answer(await carryOut({ operation, ...body.record }, operation, bearer, behind));
}

async function carryOut(
  request: Record<string, unknown>,
  operation: string,
  bearer: string,
  behind: Behind,
): Promise<WireResponse> {
  if (request.operation !== operation) {
    return refused("INVALID", "operation", "operation must be the path's, or absent");
  }
  return (
    behind.refusal(request) ??
    denial(behind.tokens, bearer, String(request.key)) ??
    (await behind.call(request))
  );
}

/** No response of the protocol: the request may have been carried out all the same. */
function outcomeUnknown(error: unknown): Response {
  const overloaded = Reflect.get(Object(error), "overloaded") === true;
  const body = {
    v: 1,
    code: "UNAVAILABLE",
    reason: "outcome-unknown",
    message: "The lease's object gave no answer: repeat the request under the same op.",
  };
  const headers = { "cache-control": "no-store", ...(overloaded && { "retry-after": "1" }) };
  return Response.json(body, { status: 502, headers });
}

function bearerOf(request: Request): string {
  const header = request.headers.get("authorization") ?? "";
  return /^bearer +(.+)$/i.exec(header)?.[1] ?? "";
}

function health(): Response {
  return Response.json({ status: "ok" }, { headers: { "cache-control": "no-store" } });
}

/** A response of the protocol, with the status that fits it: what is no refusal is a result. */
function answer(response: WireResponse): Response {
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
