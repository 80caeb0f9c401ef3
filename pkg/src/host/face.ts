/** The stand-alone host's face over HTTPS. */

import type { WireResponse } from "../lease/backend.js";
import { type BodyFault, readText } from "./body.js";
import { crossOrigin } from "./cross-origin.js";
import { inWasm, type wasm } from "./instance.js";
import type { LayoutInForce } from "./layout.js";
import { answer, json, methodNotAllowed, refused } from "./reply.js";

/** As much as a request could ever need; what is larger is none. */
const MAX_BODY_BYTES = 32_768;

/** What the face stands before. */
export interface Behind {
  /** Who may do what. */
  readonly door: wasm.Door;
  /** Carries out a call that is valid, as JSON, unless its asker leaves: about a key, or a list. */
  call(call: string, key: string | undefined, signal: AbortSignal): Promise<WireResponse>;
  /** Tells the layout of keys over objects, for an operator. */
  layout(): Promise<LayoutInForce | WireResponse>;
  /** Brings the layout that is deployed into force, for an operator. */
  changeLayout(): Promise<LayoutInForce | WireResponse>;
}

/** Answers one HTTP request. */
export async function face(request: Request, behind: Behind): Promise<Response> {
  tellFaults(behind.door);
  return crossOrigin(
    request,
    (origin) => inWasm(() => behind.door.allows(origin)),
    () => route(request, behind),
  );
}

/** In the log, once: an isolate begins with its first request. */
const told = new WeakSet<wasm.Door>();

function tellFaults(door: wasm.Door): void {
  if (!told.has(door)) {
    told.add(door);
    for (const fault of inWasm(() => door.faults())) {
      console.error(`leasehold: ${fault}`);
    }
  }
}

async function route(request: Request, behind: Behind): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/healthz") {
    return request.method === "GET" ? health(request, behind) : methodNotAllowed("GET");
  }
  const operation = pathname.startsWith("/v1/") ? pathname.slice("/v1/".length) : "";
  const isOperators = operation === "layout";
  if (!isOperators && !inWasm(() => behind.door.knows(operation))) {
    return json(404, refused("INVALID", "not-found", "There is nothing at this path."));
  }
  if (request.method !== "POST") {
    return methodNotAllowed("POST");
  }
  try {
    return await (isOperators ? change(request, behind) : operate(request, operation, behind));
  } catch (error) {
    return outcomeUnknown(error);
  }
}

async function operate(request: Request, operation: string, behind: Behind): Promise<Response> {
  const bearer = bearerOf(request);
  // Before the body is looked at: strangers get no work done.
  const stranger = inWasm(() => behind.door.denial(bearer, operation));
  if (stranger !== undefined) {
    return answer(JSON.parse(stranger));
  }
  const body = await readText(request, MAX_BODY_BYTES);
  if (typeof body === "string") {
    return unreadable(body);
  }
  const admitted = inWasm(() => behind.door.admit(bearer, operation, body.text));
  if (typeof admitted === "string") {
    return answer(JSON.parse(admitted));
  }
  const [call, key] = admitted;
  return answer(await behind.call(call, key, request.signal));
}

function unreadable(fault: BodyFault): Response {
  switch (fault) {
    case "too-large": {
      const message = `The body must not be larger than ${MAX_BODY_BYTES} bytes.`;
      return json(413, refused("INVALID", "body-too-large", message));
    }
    case "broken":
      return json(400, refused("INVALID", "body-broken", "The body could not be read to its end."));
    case "malformed":
      return json(400, refused("INVALID", "malformed-json", "The body must be text in UTF-8."));
  }
}

/** The operator's step: see `docs/host.md`. */
async function change(request: Request, behind: Behind): Promise<Response> {
  if (!isOperator(request, behind)) {
    return answer(refused("DENIED", "unauthorized", "The operator's token is needed."));
  }
  return layoutAnswer(await behind.changeLayout());
}

function layoutAnswer(layout: LayoutInForce | WireResponse): Response {
  return "inForce" in layout ? Response.json(layout, { headers: NOT_KEPT }) : answer(layout);
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
  const headers = { ...NOT_KEPT, ...(overloaded && { "retry-after": "1" }) };
  return Response.json(body, { status: 502, headers });
}

const NOT_KEPT = { "cache-control": "no-store" };

function bearerOf(request: Request): string {
  const header = request.headers.get("authorization") ?? "";
  return /^bearer +(.+)$/i.exec(header)?.[1] ?? "";
}

function isOperator(request: Request, { door }: Behind): boolean {
  const bearer = bearerOf(request);
  return inWasm(() => door.isOperator(bearer));
}

/** That the Worker runs; to its operator, what is wrong with its variables and the layout too. */
async function health(request: Request, behind: Behind): Promise<Response> {
  const details = isOperator(request, behind)
    ? {
        faults: inWasm(() => behind.door.faults()),
        layout: await behind.layout().catch(() => undefined),
      }
    : {};
  return Response.json({ status: "ok", ...details }, { headers: NOT_KEPT });
}
