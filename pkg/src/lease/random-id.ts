import { hex } from "./hex.js";

/** 128 bits that nobody can guess. */
export function randomId(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}
