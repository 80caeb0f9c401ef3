import { argument, type Check, hasMethod } from "../lease/check.js";
import { BackendError, invalid } from "../lease/errors.js";
import { mistake } from "../lease/failure.js";
import { printable } from "../lease/printable.js";

const EMPTY = "is the variable set?";

/** A URL, as text or as an object. */
export const URL_TEXT: Check = {
  must: "a URL that begins with https:",
  is: (value) => urlText(value) !== "",
  hint: (value) => (value === undefined || value === "" ? EMPTY : undefined),
};

function urlText(value: unknown): string {
  return (
    typeof value === "string" ? value : hasMethod(value, "toJSON") ? String(value) : ""
  ).trim();
}

/** A token. Never quoted: it is a secret. */
export const TOKEN: Check = {
  must: "text of visible ASCII characters without spaces",
  is: (value) =>
    typeof value === "string" && /^[\x21-\x7e]+$/.test(value.trim()) && !isUnset(value),
  hint: (value) => (value === undefined || value === "" || isUnset(value) ? EMPTY : undefined),
};

/** What a template makes of a variable that is not there. */
function isUnset(value: unknown): boolean {
  return value === "undefined" || value === "null";
}

/**
 * The URL that an endpoint's paths begin with.
 *
 * @param insecure - Whether it may be on another machine and without encryption.
 * @throws LeaseError `INVALID`; never quotes the URL, which may hold a secret.
 */
export function baseUrl(value: unknown, insecure = false, name = "url"): string {
  const url = parsed(urlText(argument(name, URL_TEXT, value)));
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const isRedis = /^rediss?:$/.test(url?.protocol ?? "");
    const hint = isRedis ? ": that is where Redis itself is, not its REST endpoint" : "";
    throw invalid(name, `must be an http or https URL${hint}`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw invalid(name, "must be without user, query and fragment: the token goes apart");
  }
  if (url.protocol === "http:" && !insecure && !isLocal(url.hostname)) {
    throw invalid(
      name,
      "must begin with https: over http the token travels in clear. If nobody can listen on the way, allow it with { insecure: true }",
    );
  }
  return url.href.replace(/\/+$/, "");
}

function isLocal(host: string): boolean {
  return /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(host);
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * The header that shows a token.
 *
 * @throws LeaseError `INVALID` for what no header can hold; never quotes it.
 */
export function bearer(token: unknown, name = "token"): { readonly authorization: string } {
  return { authorization: `Bearer ${String(argument(name, TOKEN, token)).trim()}` };
}

/** `Retry-After` in milliseconds: a number of seconds, or a date (RFC 9110, 10.2.3). */
export function retryAfter(response: Response): number | undefined {
  const header = response.headers.get("retry-after");
  if (header === null) {
    return undefined;
  }
  const ms = /^\d+$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined;
}

/**
 * The state of a key with 1,024 holders and 64 KiB of entries takes 2.2 million characters where all
 * names have to be escaped; a database may answer with those of many keys at once.
 */
const MAX_ANSWER_LENGTH = 8_388_608;

/** The body as text. One that goes on without end is cut off, and then is no answer. */
export async function bodyOf(response: Response): Promise<string> {
  if (isKnownToEnd(response) || !hasMethod(response.body, "getReader")) {
    return await response.text();
  }
  const decoder = new TextDecoder();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: !done });
    if (done) {
      return text;
    }
    if (text.length > MAX_ANSWER_LENGTH) {
      await reader.cancel().catch(() => {});
      return "";
    }
  }
}

/** Read whole, a body takes half the time. */
function isKnownToEnd({ headers }: Response): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= MAX_ANSWER_LENGTH && !headers.has("content-encoding");
}

/** Statuses of a server, or of something in between, that will say the same the next time. */
function isLasting(status: number): boolean {
  const passes = [408, 409, 421, 423, 425, 429].includes(status);
  return (status >= 300 && status < 500 && !passes) || status === 501 || status === 505;
}

/**
 * A response that is not the host's: of a firewall, a portal, a server that is another. It tells
 * nothing about a lease.
 *
 * @param what - Who was asked, as a sentence's beginning.
 */
export function foreignAnswer(response: Response, text: string, what: string): BackendError {
  const { status, ok } = response;
  const [type = ""] = (response.headers.get("content-type") ?? "").split(";");
  const kind = type === "" ? "" : ` (${printable(type, 40)})`;
  const message = `${what} answered with status ${status}${kind} and no answer of its protocol`;
  const isCutShort = type.endsWith("json") && !isJson(text);
  const isPage = ok && type === "text/html";
  if ((isLasting(status) && !isCutShort) || isPage) {
    return mistake(`${message}: check the URL, and that nothing stands in between.`, undefined, {
      code: "UNAVAILABLE",
      reason: "foreign-answer",
    });
  }
  return new BackendError(`${message}.`, {
    delivery: "unknown",
    retryAfterMs: retryAfter(response),
  });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
