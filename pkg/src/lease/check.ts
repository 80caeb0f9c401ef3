/**
 * What arguments must be, as tables of checks. A public function reads its arguments through its
 * table once, before anything else: whatever they are, it goes on with plain values or throws
 * `INVALID` naming the option, what it must be and, where that can be told, what was meant.
 */

import { invalid } from "./errors.js";

/** What a value must be. */
export interface Check {
  /** In words that follow the option's name. */
  readonly must: string;
  /** Whether it is so. May throw on odd values, which then are not. */
  is(value: unknown): boolean;
  /** For a value that is not: what to write instead, if that can be told. */
  hint?(value: unknown): string | undefined;
  readonly required?: true;
  /** The value to go on with, where it is not the one given. Runs after `is`. */
  take?(value: unknown, name: string): unknown;
}

/** A check for each option of `T`. */
export type Table<T> = { readonly [Name in keyof T]-?: Check };

/** The same check, for an option that has to be given. */
export function required(check: Check): Check & { readonly required: true } {
  return { ...check, required: true };
}

/** @throws LeaseError `INVALID` unless the argument is what it must be. */
export function argument<T>(name: string, check: Check, value: T): T {
  if (!isSo(check, value)) {
    const not = `must be ${check.must}, not ${kindOf(value)}`;
    const hint = quiet(() => check.hint?.(value));
    throw invalid(name, hint === undefined ? not : `${not}: ${hint}`);
  }
  return check.take === undefined ? value : (check.take(value, name) as T);
}

/**
 * The options in `value`, each read once and checked. Nothing at all is no option.
 *
 * A plain object must have no others; an object of a class may.
 *
 * @throws LeaseError `INVALID`.
 */
export function optionsOf<T extends object>(
  table: Table<T>,
  value: unknown,
  name = "options",
  within = "",
): T {
  const given = argument(name, record, value === undefined ? {} : value) as object;
  refuseUnknown(Object.keys(table), given, name);
  return fields(table, given, name, within);
}

/**
 * The same for a record that is not written by hand: it may have others.
 *
 * @throws LeaseError `INVALID`.
 */
export function fields<T extends object>(
  table: Table<T>,
  given: object,
  name: string,
  within = `${name}.`,
): T {
  const taken: Record<string, unknown> = {};
  for (const [field, check] of Object.entries<Check>(table)) {
    const found = readable(name, () => Reflect.get(given, field));
    if (found !== undefined || check.required) {
      taken[field] = argument(within + field, check, found);
    }
  }
  return taken as T;
}

function refuseUnknown(known: readonly string[], given: object, name: string): void {
  const names = readable(name, () => {
    const parent = Object.getPrototypeOf(given);
    const isPlain = parent === null || Object.getPrototypeOf(parent) === null;
    return isPlain ? Object.keys(given) : [];
  });
  for (const unknown of names.filter((field) => !known.includes(field))) {
    const meant = nearest(unknown, known);
    const advice = meant === undefined ? `these are: ${known.join(", ")}` : `${meant} was meant?`;
    throw invalid(unknown.slice(0, 40), `is no option here; ${advice}`);
  }
}

/** The known name that an unknown one is a slip of. */
function nearest(unknown: string, known: readonly string[]): string | undefined {
  const said = unknown.toLowerCase();
  const distances = known.map((name) => {
    const right = name.toLowerCase();
    const isPart = said.length > 2 && (right.startsWith(said) || said.endsWith(right));
    return { name, edits: isPart ? 0 : edits(said, right) };
  });
  const [best] = distances.sort((a, b) => a.edits - b.edits);
  return best !== undefined && best.edits <= Math.min(2, said.length / 2) ? best.name : undefined;
}

/** How many letters have to be added, left out or changed (Levenshtein). */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at += 1) {
      const changed = (row[at - 1] ?? 0) + (letter === to[at - 1] ? 0 : 1);
      next.push(Math.min(changed, (row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

function isSo(check: Check, value: unknown): boolean {
  return quiet(() => check.is(value)) === true;
}

/** Reads what is somebody else's: what it throws is a bad argument, too. */
function readable<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw invalid(name, "must be readable: reading it threw", cause);
  }
}

function quiet<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A field of something that may be anything; of what can't be read, nothing. */
export function peek(value: unknown, name: string): unknown {
  return quiet(() => Reflect.get(Object(value), name));
}

/** What a value is, in words that tell nothing of what is in it. */
export function kindOf(value: unknown): string {
  const kind = quiet(() => {
    if (value === null || value === undefined) return String(value);
    if (value === "") return "empty text";
    if (Array.isArray(value)) return "an array";
    if (typeof value === "string") return "text";
    if (typeof value === "function") return "a function";
    if (typeof value !== "object")
      return typeof value === "number" ? `${value}` : `a ${typeof value}`;
    if (hasMethod(value, "then")) return "a promise";
    const name = value.constructor?.name;
    return typeof name === "string" && /^[A-Z]\w{1,40}$/.test(name) && name !== "Object"
      ? `an object of class ${name}`
      : "an object";
  });
  return kind ?? "an object that can't be read";
}

/** Whether there is such a method. A function may have methods, too: remote stubs are functions. */
export function hasMethod(value: unknown, ...names: readonly string[]): boolean {
  const isThing = (typeof value === "object" && value !== null) || typeof value === "function";
  return isThing && names.every((name) => typeof Reflect.get(value, name) === "function");
}

// The checks that tables are made of.

/** Anything with fields. */
export const record: Check = {
  must: "an object",
  is: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  hint: (value) =>
    typeof value === "number"
      ? "name it, such as { ttlMs: 30_000 } or { waitMs: 5_000 }"
      : undefined,
};

/** A whole number of milliseconds. */
export function millis(least: number, most: number): Check {
  return whole("milliseconds", least, most);
}

/** A whole number of something. */
export function whole(what: string, least: number, most: number): Check {
  return {
    must: `a whole number of ${what} from ${least} to ${most}`,
    is: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
  };
}

/** A number between two others, both left out. */
export function between(least: number, most: number): Check {
  return {
    must: `a number between ${least} and ${most}`,
    is: (value) => typeof value === "number" && value > least && value < most,
  };
}

/** Text that is the same in UTF-8: a lone surrogate is not. */
export function text(mostBytes: number): Check {
  return {
    must: `text of 1 to ${mostBytes} bytes in UTF-8, without lone surrogates`,
    is: (value) =>
      typeof value === "string" &&
      value !== "" &&
      !/\p{Cs}/u.test(value) &&
      (value.length * 3 <= mostBytes || new TextEncoder().encode(value).length <= mostBytes),
  };
}

/** Text of this form. */
export function form(must: string, pattern: RegExp): Check {
  return { must, is: (value) => typeof value === "string" && pattern.test(value) };
}

/** One of these. */
export function oneOf(...values: readonly (string | number)[]): Check {
  return {
    must: values.map((each) => JSON.stringify(each)).join(" or "),
    is: (value) => values.some((each) => each === value),
  };
}

export const flag: Check = {
  must: "true or false",
  is: (value) => typeof value === "boolean",
};

export const callback: Check = {
  must: "a function",
  is: (value) => typeof value === "function",
};

/** Whatever realm or library it is of. */
export const signal: Check = {
  must: "an AbortSignal",
  is: (value) =>
    typeof Reflect.get(value as object, "aborted") === "boolean" &&
    hasMethod(value, "addEventListener", "removeEventListener"),
  hint: (value) => (hasMethod(value, "abort") ? "pass its .signal" : undefined),
};

/** An object with these methods. */
export function having(must: string, ...methods: readonly string[]): Check {
  return { must, is: (value) => hasMethod(value, ...methods) };
}

/** An object with options of its own. */
export function nested<T extends object>(table: Table<T>): Check {
  return { ...record, take: (value, name) => optionsOf(table, value, name, `${name}.`) };
}
