import { invalid } from "./errors.js";

/** What JSON can say. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json | undefined };

/**
 * A value as JSON; nothing at all is `null`.
 *
 * @throws LeaseError `INVALID` for what JSON can't say, and for more than `mostBytes` in UTF-8.
 */
export function jsonOf(name: string, value: unknown, mostBytes: number): string {
  const json = stringified(name, value);
  if (json.length * 3 > mostBytes && new TextEncoder().encode(json).length > mostBytes) {
    throw invalid(name, `must take ${mostBytes} bytes as JSON at most`);
  }
  return json;
}

function stringified(name: string, value: unknown): string {
  try {
    return JSON.stringify(value) ?? "null";
  } catch (cause) {
    throw invalid(name, "must be a value that JSON can say", cause);
  }
}
