/** The host's wasm instance: one for all objects of an isolate. */

import { __wbg_reset_state, denial, initSync, LeaseObject, refusal } from "../../wasm/host/host.js";
import module from "../../wasm/host/host_bg.wasm";

initSync({ module });

let generation = 0;

/** Counts the instances. Whatever was made in an earlier one is gone with it. */
export function currentGeneration(): number {
  return generation;
}

/** After these, wasm code has been left half-way and its memory can't be trusted. */
export function isTrap(error: unknown): boolean {
  // A stack overflow is a RangeError, whichever side ran out of stack.
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

/** Begins a new instance, unless that has happened since `broken`. */
export function replaceInstance(broken: number): void {
  if (broken === generation) {
    __wbg_reset_state();
    generation += 1;
  }
}

export { denial, LeaseObject, refusal };
