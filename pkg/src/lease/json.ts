import { kindOf } from "./check.js";
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
 * @throws LeaseError `INVALID` for what JSON can't say, or would say something else for, and for more than `mostBytes` in UTF-8.
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
    return JSON.stringify(value, sayable) ?? "null";
  } catch (cause) {
    throw invalid(name, "must be a value that JSON can say", cause);
  }
}

/** Throws for what JSON would leave out, or turn into something else, without a word. */
function sayable(_name: string, value: unknown): unknown {
  const isUnsayable =
    typeof value === "function" ||
    typeof value === "symbol" ||
    (typeof value === "number" && !Number.isFinite(value)) ||
    isOpaque(value);
  if (isUnsayable) throw new TypeError(`JSON can't say ${kindOf(value)}`);
  return value;
}

/** Whether it is a Map, a promise or the like, whose contents are no fields. */
function isOpaque(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const parent = Object.getPrototypeOf(value);
  const isPlain = parent === null || Object.getPrototypeOf(parent) === null;
  return !isPlain && Object.keys(value).length === 0;
}
