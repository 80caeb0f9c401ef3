/** The host's wasm instance: one for all objects of an isolate. */

import * as wasm from "../../wasm/host/host.js";
import module from "../../wasm/host/host_bg.wasm";
import type { WireResponse } from "../lease/backend.js";

wasm.initSync({ module });

export { LeaseObject } from "../../wasm/host/host.js";

let generation = 0;

/** Counts the instances. Whatever was made in an earlier one is gone with it. */
export function currentGeneration(): number {
  return generation;
}

/** Runs wasm code, and begins a new instance if it traps: the next call finds a sound one. */
export function guarded<T>(run: () => T): T {
  const before = generation;
  try {
    return run();
  } catch (error) {
    if (isTrap(error) && generation === before) {
      wasm.__wbg_reset_state();
      generation += 1;
    }
    throw error;
  }
}

/** After these, wasm code has been left half-way and its memory can't be trusted. */
function isTrap(error: unknown): boolean {
  // A stack overflow is a RangeError, whichever side ran out of stack.
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

const bigintAsText = (_: string, value: unknown) =>
  typeof value === "bigint" ? String(value) : value;

/** What was sent, as text: the core says what is wrong with it. */
export function textOf(sent: unknown): string {
  try {
    return JSON.stringify(sent, bigintAsText) ?? "";
  } catch {
    return "";
  }
}

/** Why no host would carry out this request, if that is so. */
export function refusal(request: unknown): WireResponse | undefined {
  return parsed(guarded(() => wasm.refusal(textOf(request))));
}

/**
 * Why the bearer of this token may not operate on this key, if that is so; without a key, why the
 * token is not accepted for any.
 */
export function denial(
  secret: string | undefined,
  bearer: string,
  key?: string,
): WireResponse | undefined {
  return parsed(guarded(() => wasm.denial(secret, bearer, key)));
}

function parsed(text: string | undefined): WireResponse | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}
