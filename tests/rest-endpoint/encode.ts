import type { Reply } from "./resp.ts";

export interface Payload {
  readonly status: number;
  readonly type: "application/json" | "text/html" | "text/plain";
  readonly body: Buffer;
}

export function jsonPayload(status: number, json: string): Payload {
  return { status, type: "application/json", body: Buffer.from(json) };
}

export function errorPayload(status: number, error: string): Payload {
  return jsonPayload(status, JSON.stringify({ error }));
}

export function jsonOne(reply: Reply, base64: boolean): Payload {
  return jsonPayload(reply.kind === "error" ? 400 : 200, envelope(reply, base64));
}

export function jsonMany(replies: readonly Reply[], base64: boolean): Payload {
  return jsonPayload(200, `[${replies.map((reply) => envelope(reply, base64)).join(",")}]`);
}

function envelope(reply: Reply, base64: boolean): string {
  if (reply.kind === "error") return JSON.stringify({ error: reply.text });
  return `{"result":${value(reply, base64)}}`;
}

// Written by hand because JSON.stringify would send integers through a float.
function value(reply: Reply, base64: boolean): string {
  switch (reply.kind) {
    case "integer":
      return reply.digits;
    case "error":
      return JSON.stringify(reply.text);
    case "simple":
      return reply.text === "OK" ? '"OK"' : string(Buffer.from(reply.text), base64);
    case "bulk":
      return reply.bytes === null ? "null" : string(reply.bytes, base64);
    case "array":
      if (reply.items === null) return "null";
      return `[${reply.items.map((item) => value(item, base64)).join(",")}]`;
  }
}

function string(bytes: Buffer, base64: boolean): string {
  return JSON.stringify(bytes.toString(base64 ? "base64" : "utf8"));
}
