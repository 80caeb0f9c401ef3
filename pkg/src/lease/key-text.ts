import { KEY } from "./arguments.js";
import { hex } from "./hex.js";

/**
 * The key for a text of any kind: the text behind the prefix where that makes a key; else the prefix,
 * the mark, and the SHA-256 of the text's UTF-16 code units. A text that begins with the mark is
 * hashed as well, so that no two texts have the same key.
 */
export async function keyOf(text: string, mark: string, prefix = ""): Promise<string> {
  const plain = prefix + text;
  return text.startsWith(mark) || !KEY.is(plain) ? `${prefix}${mark}${await sha256(text)}` : plain;
}

async function sha256(text: string): Promise<string> {
  const units = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", units)));
}
