import type { IncomingMessage } from "node:http";
import { errorPayload, type Payload } from "./encode.ts";
import type { Shape } from "./log.ts";
import type { Command } from "./resp.ts";

export interface Target {
  /** As sent: neither decoded nor normalised. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export function targetOf(request: IncomingMessage): Target {
  const [path = "/", ...query] = (request.url ?? "/").split("?");
  return { path, query: new URLSearchParams(query.join("?")) };
}

export interface Understood {
  readonly shape: Shape;
  readonly commands: readonly Command[];
}

const STREAMS = new Set(["subscribe", "psubscribe", "monitor"]);
const METHODS = new Set(["GET", "HEAD", "POST", "PUT"]);

export type Access = "full" | "read-only";

export function access(
  request: IncomingMessage,
  target: Target,
  tokens: { readonly token: string; readonly readOnlyToken: string | undefined },
): Access | undefined {
  const bearer = /^Bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1];
  const given = bearer ?? target.query.get("_token");
  if (given === null) return undefined;
  if (given === tokens.token) return "full";
  return given === tokens.readOnlyToken ? "read-only" : undefined;
}

export class TooLarge extends Error {
  readonly payload: Payload;

  constructor(limit: number) {
    super("request too large");
    this.payload = errorPayload(413, `ERR max request size exceeded. Limit: ${limit} bytes`);
  }
}

/** Reads to the end even when over the limit, so that the client gets the answer. */
export async function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= limit) chunks.push(chunk);
  }
  if (size > limit) throw new TooLarge(limit);
  return Buffer.concat(chunks);
}

export function understand(method: string, target: Target, body: Buffer): Understood | Payload {
  if (!METHODS.has(method)) return notAllowed();
  const path = target.path.slice(1);
  const [head = ""] = path.split("/", 1);
  if (path === "") return method === "POST" ? single(body) : notAllowed();
  if (path === "pipeline" || path === "multi-exec") {
    return method === "POST" ? batch(path, body) : notAllowed();
  }
  const command = pathArguments(path);
  if (!command) return errorPayload(400, "ERR failed to parse command");
  if (STREAMS.has(head)) {
    if (method !== "POST") return notAllowed();
    const complete = head === "monitor" || command.length > 1;
    if (!complete) return errorPayload(400, `ERR wrong number of arguments for '${head}' command`);
    return { shape: "stream", commands: [command] };
  }
  const value = body.length > 0 ? [body] : [];
  return { shape: "single", commands: [[...command, ...value, ...queryArguments(target.query)]] };
}

function notAllowed(): Payload {
  return errorPayload(405, "ERR method not allowed");
}

function single(body: Buffer): Understood | Payload {
  const command = asCommand(parse(body));
  if (!command) return errorPayload(400, "ERR failed to parse command");
  return { shape: "single", commands: [command] };
}

function batch(shape: "pipeline" | "multi-exec", body: Buffer): Understood | Payload {
  const parsed = parse(body);
  const commands = Array.isArray(parsed) ? parsed.map(asCommand) : [];
  const valid = commands.filter((command) => command !== undefined);
  if (valid.length === 0 || valid.length < commands.length) {
    return errorPayload(400, `ERR failed to parse ${shape} request`);
  }
  return { shape, commands: valid };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString(), keepDigits);
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

function pathArguments(path: string): Buffer[] | undefined {
  const parts = path.split("/").map(percentDecode);
  const known = parts.filter((part) => part !== undefined);
  return known.length === parts.length ? known : undefined;
}

/** To bytes, not text: a path may carry any. */
function percentDecode(text: string): Buffer | undefined {
  if (/%(?![0-9a-f]{2})/i.test(text)) return undefined;
  const latin1 = text.replace(/%(..)/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(latin1, "latin1");
}

function queryArguments(query: URLSearchParams): string[] {
  return [...query]
    .filter(([name]) => name !== "_token")
    .flatMap(([name, value]) => (value === "" ? [name] : [name, value]));
}
