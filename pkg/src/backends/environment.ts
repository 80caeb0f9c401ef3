import { argument, type Check, fields, record } from "../lease/check.js";
import { invalid } from "../lease/errors.js";
import { baseUrl, bearer } from "./endpoint.js";

/** The names of two variables that belong together: a URL, and the token for it. */
export type Pair = readonly [url: string, token: string];

const VARIABLE: Check = { must: "text", is: (value) => typeof value === "string" };

/**
 * URL and token from the first pair of variables of which both are set. Pairs are never mixed.
 *
 * @throws LeaseError `INVALID`, naming the variable that is missing or bad.
 */
export function pairFrom(
  env: Readonly<Record<string, unknown>> = globalThis.process?.env ?? {},
  ...pairs: readonly Pair[]
): { readonly url: string; readonly token: string } {
  argument("env", record, env);
  const names = pairs.flat();
  const table = Object.fromEntries(names.map((name) => [name, VARIABLE]));
  const values = fields(table, env, "env", "") as Record<string, string>;
  const whole = pairs.find((pair) => pair.every((name) => values[name]));
  if (whole === undefined) {
    throw incomplete(pairs, values);
  }
  const [url, token] = whole.map((name) => unquoted(name, values[name] ?? "")) as [string, string];
  // Told here, they are told by the variable's name.
  baseUrl(url, true, whole[0]);
  bearer(token, whole[1]);
  return { url, token };
}

function incomplete(pairs: readonly Pair[], values: Record<string, string>): Error {
  for (const pair of pairs) {
    const present = pair.find((name) => values[name]);
    const absent = pair.find((name) => !values[name]);
    if (present !== undefined && absent !== undefined) {
      const what = values[absent] === "" ? "is empty" : "is missing";
      return invalid(absent, `${what}, and ${present} needs it`);
    }
  }
  const all = pairs.map((pair) => pair.join(" and ")).join(", or ");
  return invalid("env", `must have ${all}`);
}

function unquoted(name: string, value: string): string {
  if (/^\s*(["'`]).*\1\s*$/s.test(value)) {
    throw invalid(name, "is in quotes, which are part of its value here: take them away");
  }
  return value;
}
