import type { IncomingMessage } from "node:http";
import { errorPayload, type Payload } from "./encode.ts";
import type { Shape } from "./log.ts";
import type { Command } from "./resp.ts";

export interface Understood {
  readonly shape: Shape;
  readonly commands: readonly Command[];
}

export type Access = "full" | "read-only";

export function access(
  request: IncomingMessage,
  tokens: { readonly token: string; readonly readOnlyToken: string | undefined },
): Access | undefined {
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  if (given === undefined) return undefined;
  if (given === tokens.token) return "full";
  return given === tokens.readOnlyToken ? "read-only" : undefined;
}

export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

export function understand(method: string, path: string, body: string): Understood | Payload {
  if (method !== "POST") return errorPayload(405, "ERR method not allowed");
  if (path === "/") return single(body);
  if (path === "/pipeline") return batch(body);
  const channel = /^\/subscribe\/([^/]+)$/.exec(path)?.[1];
  if (channel === undefined) return errorPayload(400, "ERR failed to parse command");
  return { shape: "stream", commands: [["subscribe", decodeURIComponent(channel)]] };
}

function single(body: string): Understood | Payload {
  const command = asCommand(parse(body));
  if (!command) return errorPayload(400, "ERR failed to parse command");
  return { shape: "single", commands: [command] };
}

function batch(body: string): Understood | Payload {
  const parsed = parse(body);
  const commands = Array.isArray(parsed) ? parsed.map(asCommand) : [];
  const valid = commands.filter((command) => command !== undefined);
  if (valid.length === 0 || valid.length < commands.length) {
    return errorPayload(400, "ERR failed to parse pipeline request");
  }
  return { shape: "pipeline", commands: valid };
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body, keepDigits);
  } catch {
    return undefined;
  }
}

// Numbers stay as they were written: a float would round the large ones.
function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? String(value)) : value;
}

function asCommand(value: unknown): Command | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const words: unknown[] = value;
  return words.every((word) => typeof word === "string") ? words : undefined;
}
