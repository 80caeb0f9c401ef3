import { invalid } from "../lease/errors.js";

/**
 * The URL that an endpoint's paths begin with.
 *
 * @throws LeaseError `INVALID`; never quotes the URL, which may hold a secret.
 */
export function baseUrl(value: unknown): string {
  const url = parsed(String(value).trim());
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw invalid("url", "must be an http or https URL");
  }
  if (url.username || url.password || url.search || url.hash) {
    throw invalid("url", "must be without user, query and fragment: the token goes apart");
  }
  return url.href.replace(/\/+$/, "");
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
export function bearer(token: unknown): { readonly authorization: string } {
  const trimmed = typeof token === "string" ? token.trim() : "";
  if (!/^[\x21-\x7e]+$/.test(trimmed)) {
    throw invalid("token", "must be text without spaces");
  }
  return { authorization: `Bearer ${trimmed}` };
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
