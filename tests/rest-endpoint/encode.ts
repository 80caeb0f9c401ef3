import { encodeReply, type Reply } from "./resp.ts";

export interface Encoding {
  readonly base64: boolean;
  /** Whether base64 also covers an OK inside an array; undocumented at the real service. */
  readonly encodeNestedOk: boolean;
}

export interface Payload {
  readonly status: number;
  readonly type: "application/json" | "application/octet-stream" | "text/html" | "text/plain";
  readonly body: Buffer;
}

export function jsonPayload(status: number, json: string): Payload {
  return { status, type: "application/json", body: Buffer.from(json) };
}

export function errorPayload(status: number, error: string): Payload {
  return jsonPayload(status, JSON.stringify({ error }));
}

export function jsonOne(reply: Reply, encoding: Encoding): Payload {
  return jsonPayload(reply.kind === "error" ? 400 : 200, envelope(reply, encoding));
}

export function jsonMany(replies: readonly Reply[], encoding: Encoding): Payload {
  return jsonPayload(200, `[${replies.map((reply) => envelope(reply, encoding)).join(",")}]`);
}

export function resp2One(reply: Reply): Payload {
  return octets(reply.kind === "error" ? 400 : 200, [reply]);
}

export function resp2Many(replies: readonly Reply[]): Payload {
  return octets(200, replies);
}

function octets(status: number, replies: readonly Reply[]): Payload {
  const body = Buffer.concat(replies.map(encodeReply));
  return { status, type: "application/octet-stream", body };
}

function envelope(reply: Reply, encoding: Encoding): string {
  if (reply.kind === "error") return JSON.stringify({ error: reply.text });
  return `{"result":${value(reply, encoding, false)}}`;
}

// Written by hand because JSON.stringify would send integers through a float.
function value(reply: Reply, encoding: Encoding, nested: boolean): string {
  switch (reply.kind) {
    case "integer":
      return reply.digits;
    case "error":
      return JSON.stringify(reply.text);
    case "simple": {
      const bare = reply.text === "OK" && !(nested && encoding.encodeNestedOk);
      return bare ? '"OK"' : string(Buffer.from(reply.text), encoding);
    }
    case "bulk":
      return reply.bytes === null ? "null" : string(reply.bytes, encoding);
    case "array":
      if (reply.items === null) return "null";
      return `[${reply.items.map((item) => value(item, encoding, true)).join(",")}]`;
  }
}

function string(bytes: Buffer, encoding: Encoding): string {
  return JSON.stringify(bytes.toString(encoding.base64 ? "base64" : "utf8"));
}
