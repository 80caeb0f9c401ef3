/** The host's wasm instance: one for all objects of an isolate. */

import * as wasm from "../../wasm/host/host.js";
import module from "../../wasm/host/host_bg.wasm";

wasm.initSync({ module });

export * as wasm from "../../wasm/host/host.js";

const { Door } = wasm;
type Door = wasm.Door;

let generation = 0;

/** Counts the instances. Whatever was made in an earlier one is gone with it. */
export function currentGeneration(): number {
  return generation;
}

/** Runs wasm code, and begins a new instance if it traps: the next call finds a sound one. */
export function inWasm<T>(run: () => T): T {
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
    return JSON.stringify(sent) ?? "";
  } catch {
    return textWithBigints(sent);
  }
}

function textWithBigints(sent: unknown): string {
  try {
    return JSON.stringify(sent, bigintAsText);
  } catch {
    return "";
  }
}

/** What a Worker's variables say about access: read once, and again after a trap. */
let opened: { readonly variables: unknown[]; readonly generation: number; readonly door: Door };

/** Who may do what, as the Worker's variables say. */
export function door(env: unknown): Door {
  const { LEASEHOLD_TOKENS, LEASEHOLD_OPERATOR_TOKEN, LEASEHOLD_ORIGINS } = Object(env);
  const variables = [LEASEHOLD_TOKENS, LEASEHOLD_OPERATOR_TOKEN, LEASEHOLD_ORIGINS];
  const isSame = (value: unknown, index: number) => value === opened.variables[index];
  if (opened?.generation !== generation || !variables.every(isSame)) {
    const made = inWasm(() => new Door(variables[0], variables[1], variables[2]));
    opened = { variables, generation, door: made };
  }
  return opened.door;
}
