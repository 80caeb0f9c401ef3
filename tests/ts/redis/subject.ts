import { randomBytes } from "node:crypto";
import { LeaseClient, type LeaseClientOptions } from "leasehold";
import { type UpstashSettings, upstash } from "leasehold/upstash";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import type { RedisConnection } from "../../rest-endpoint/redis.ts";
import type { Reply } from "../../rest-endpoint/resp.ts";

/** A term that does not end while a test runs. */
export const LONG = 30_000;

let serial = 0;

/** A key that no other test has. */
export function freshKey(): string {
  serial += 1;
  return `key-${process.pid}-${serial}`;
}

/** A holder's name as hard to guess as the other secrets, so that it can be looked for. */
export function secretName(): string {
  return `holder-${randomBytes(8).toString("hex")}`;
}

export interface ClientOptions extends LeaseClientOptions {
  readonly endpoint?: UpstashSettings & { readonly token?: string };
}

/** A client that shares nothing with others but the endpoint. */
export function client(endpoint: RestEndpoint, options: ClientOptions = {}): LeaseClient {
  const { endpoint: over, ...rest } = options;
  return new LeaseClient(upstash({ url: endpoint.url, token: endpoint.token, ...over }), rest);
}

/** The name of a key's document, or of its entries. */
export function record(key: string, what: "lease" | "entries" = "lease"): string {
  return `leasehold:{k:${key}}:${what}`;
}

/** What a key's document says, as the script tells its form. */
export interface Document {
  /** The last fence. */
  readonly fence: string;
  /** What stands for the ops of those who wait, first in turn first. */
  readonly queue: readonly string[];
  /** How many ops are remembered. */
  readonly remembered: number;
}

/** A key's document, if there is one. */
export async function documentOf(
  direct: RedisConnection,
  key: string,
): Promise<Document | undefined> {
  const stored = await ask(direct, "GET", record(key));
  if (stored === null) return undefined;
  const [head = "", , queue = "", past = ""] = stored.split("\n");
  const [, , fence = ""] = head.split(" ");
  const rows = queue.match(/.{36}/g) ?? [];
  return {
    fence,
    queue: rows.map((row) => row.slice(0, 16)),
    remembered: past.length / 97,
  };
}

/** A reply as text: what is stored, a number's digits, or an error's words. */
export function text(reply: Reply | undefined): string | null {
  switch (reply?.kind) {
    case "bulk":
      return reply.bytes === null ? null : String(reply.bytes);
    case "integer":
      return reply.digits;
    case "simple":
    case "error":
      return reply.text;
    default:
      throw new Error(`no single value: ${reply?.kind}`);
  }
}

/** A reply as clients hand it out: errors thrown, everything else as a value. */
export function value(reply: Reply): unknown {
  switch (reply.kind) {
    case "error":
      throw new Error(reply.text);
    case "simple":
      return reply.text;
    case "integer":
      return Number(reply.digits);
    case "bulk":
      return reply.bytes === null ? null : String(reply.bytes);
    case "array":
      return reply.items === null ? null : reply.items.map(value);
  }
}

/** Asks the server itself, past the endpoint. */
export async function ask(direct: RedisConnection, ...command: string[]): Promise<string | null> {
  return text(await direct.send(...command));
}

/** The names of all that is stored, sorted. */
export async function stored(direct: RedisConnection): Promise<string[]> {
  const reply = await direct.send("KEYS", "*");
  if (reply.kind !== "array") throw new Error("KEYS gave no array");
  return (reply.items ?? []).map((item) => text(item) ?? "").sort();
}

/** How many requests carried a script. */
export function scriptsSent(endpoint: RestEndpoint): number {
  return (
    endpoint.requests.withCommand("evalsha").length + endpoint.requests.withCommand("eval").length
  );
}
