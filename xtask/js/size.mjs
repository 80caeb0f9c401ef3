// Prints the raw, gzip and brotli bytes of the bundled entries, then of the wasm file.
// Usage: node size.mjs <entry.js>... <file.wasm>, from the repository's folder.

import { readFile } from "node:fs/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const files = process.argv.slice(2);
const wasm = files.pop();

const bundled = await build({
  stdin: {
    contents: files.map((file) => `export * from "./${file}";`).join("\n"),
    resolveDir: process.cwd(),
  },
  bundle: true,
  minify: true,
  write: false,
  platform: "neutral",
  format: "esm",
  target: "es2022",
  conditions: ["workerd", "worker"],
  external: ["*.wasm", "*.wasm?module", "cloudflare:*", "node:*"],
  logLevel: "warning",
});

for (const bytes of [bundled.outputFiles[0].contents, await readFile(wasm)]) {
  const gzip = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  console.log(bytes.length, gzip.length, brotli.length);
}
