import { readFile } from "node:fs/promises";

/** The README's code block that begins with a comment naming this file. */
export async function readmeFile(name: string): Promise<string> {
  const readme = await readFile(new URL("../../../README.md", import.meta.url), "utf8");
  for (const [, block = ""] of readme.matchAll(/```\w+\n(.*?)```/gs)) {
    if (/^(?:\/\/|#) (\S+)\n/.exec(block)?.[1] === name) return block;
  }
  throw new Error(`the README has no block for ${name}`);
}
