// Prints the raw, gzip and brotli bytes of the bundled entries, then of all wasm files.
// Usage: node size.mjs <entry.js>... <file.wasm>..., from the repository's folder.

import { readFile } from "node:fs/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const files = process.argv.slice(2);
const entries = files.filter((file) => file.endsWith(".js"));
const wasm = files.filter((file) => file.endsWith(".wasm"));

const bundled = await build({
  stdin: {
    contents: entries.map((file) => `export * from "./${file}";`).join("\n"),
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

function sizes(bytes) {
  const gzip = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  return [bytes.length, gzip.length, brotli.length];
}

// Each wasm file is compressed by itself, as it is served.
const each = await Promise.all(wasm.map(async (file) => sizes(await readFile(file))));
console.log(sizes(bundled.outputFiles[0].contents).join(" "));
console.log([0, 1, 2].map((i) => each.reduce((sum, one) => sum + one[i], 0)).join(" "));
