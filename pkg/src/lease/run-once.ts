import { RESULT } from "./arguments.js";
import { argument } from "./check.js";
import { type LeaseError, toLeaseError } from "./errors.js";
import type { Json } from "./json.js";
import type { Lease } from "./lease.js";

/** A result as everybody gets it: nothing at all has become `null`. */
export type Kept<T> = T extends Json ? T : null;

/** What a function run once may return. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing is one
export type Result = Json | undefined | void;

const results = new WeakMap<LeaseError, string>();

/** The error for work that is done. Its result is kept aside: nobody is to log it. */
export function done(
  key: string,
  told: { readonly fence: string; readonly ageMs: number; readonly result?: string },
): LeaseError {
  const { fence, ageMs, result = "null" } = told;
  const error = toLeaseError(
    { code: "DONE", reason: "done", ageMs },
    { key, fence: BigInt(fence) },
  );
  results.set(error, result);
  return error;
}

/** The result, as JSON, of the work that this error says is done. */
function resultOf(error: unknown): string | undefined {
  return results.get(error as LeaseError);
}

/** Gets the lease, runs `fn` and ends the lease with its result; or gets the result. */
export async function runOnce<T extends Result>(
  acquire: () => Promise<Lease>,
  keepMs: number,
  fn: (lease: Lease) => T | Promise<T>,
): Promise<Kept<T>> {
  let lease: Lease;
  try {
    lease = await acquire();
  } catch (error) {
    const result = resultOf(error);
    if (result === undefined) throw error;
    return JSON.parse(result);
  }
  try {
    const json: unknown = argument("result", RESULT, await fn(lease));
    const result = JSON.parse(String(json));
    await lease.finish({ result, keepMs });
    return result;
  } finally {
    await lease[Symbol.asyncDispose]();
  }
}
