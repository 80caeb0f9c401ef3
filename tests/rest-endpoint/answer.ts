import type { ServerResponse } from "node:http";
import { errorPayload, type Payload } from "./encode.ts";
import type { Fault } from "./faults.ts";

type CannedFault = Extract<Fault, { kind: "status" | "quota" }>;

export function cannedPayload(fault: CannedFault): Payload {
  if (fault.kind === "status") return statusPayload(fault.status, fault.body);
  const error =
    fault.limit === "daily"
      ? "ERR max daily request limit exceeded. Limit: 10000, Usage: 10000."
      : "ERR max requests limit exceeded. Limit: 500000, Usage: 500000.";
  return errorPayload(fault.status ?? 400, error);
}

function statusPayload(status: number, body: "json" | "text" | "html"): Payload {
  const text = `injected fault ${status}`;
  if (body === "json") return errorPayload(status, text);
  if (body === "text") return { status, type: "text/plain", body: Buffer.from(text) };
  const page = `<!doctype html><html><body><h1>${text}</h1></body></html>`;
  return { status, type: "text/html", body: Buffer.from(page) };
}

export function send(response: ServerResponse, payload: Payload): void {
  response.writeHead(payload.status, {
    "content-type": payload.type,
    "content-length": payload.body.length,
  });
  response.end(payload.body);
}

/** A 204 has no body and no content type. */
export function sendEmpty(response: ServerResponse): void {
  response.writeHead(204);
  response.end();
}

export async function sendPart(
  response: ServerResponse,
  payload: Payload,
  part: { readonly bytes?: number; readonly complete?: boolean },
): Promise<void> {
  const kept = payload.body.subarray(0, part.bytes ?? Math.floor(payload.body.length / 2));
  const announced = part.complete ? kept.length : payload.body.length;
  response.writeHead(payload.status, {
    "content-type": payload.type,
    "content-length": announced,
  });
  if (part.complete) {
    response.end(kept);
    return;
  }
  response.flushHeaders();
  await new Promise<void>((resolve) => response.write(kept, () => resolve()));
  response.destroy();
}
