// Writes entries.ts: each entry point that the platform at hand need not be Workers for.

import { readFile, writeFile } from "node:fs/promises";

const manifest = JSON.parse(await readFile("node_modules/leasehold/package.json", "utf8"));
const names = Object.entries(manifest.exports)
  .filter(([, conditions]) => conditions["edge-light"] !== undefined)
  .map(([name]) => name.replace(".", "leasehold"));
const lines = names.map((name, at) => `export * as entry${at} from "${name}";\n`);
await writeFile("entries.ts", lines.join(""));
