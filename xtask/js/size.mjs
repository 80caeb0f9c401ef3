// Prints the raw, gzip and brotli bytes of what a bundle grows by: its JavaScript, then the wasm beside it.
// Usage: node size.mjs <workerd | default> <entry>..., from the repository's folder.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const [condition, ...entries] = process.argv.slice(2);
const sources = JSON.parse(await readFile("pkg/entries.json", "utf8"));
const wasm = new Set();

/** What an entry's declarations have: its file may export more, for other files. */
async function exportsOf(entry) {
  const source = join("pkg/src", sources[entry.replace("leasehold", ".")]);
  const { metafile } = await build({ entryPoints: [source], metafile: true, write: false });
  const [{ exports }] = Object.values(metafile.outputs);
  return exports.join(", ");
}

const imports = await Promise.all(
  entries.map(async (entry) => `export { ${await exportsOf(entry)} } from "${entry}";`),
);
const bundled = await build({
  stdin: {
    contents: imports.join("\n"),
    resolveDir: process.cwd(),
  },
  bundle: true,
  minify: true,
  write: false,
  platform: "neutral",
  format: "esm",
  target: "es2022",
  conditions: [condition],
  external: ["cloudflare:*"],
  logLevel: "warning",
  plugins: [
    {
      name: "wasm",
      setup({ onResolve }) {
        onResolve({ filter: /\.wasm$/ }, ({ path, resolveDir }) => {
          wasm.add(join(resolveDir, path));
          return { path, external: true };
        });
      },
    },
  ],
});

function sizes(bytes) {
  const gzip = gzipSync(bytes, { level: 9 });
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
  return [bytes.length, gzip.length, brotli.length];
}

// Each wasm file is compressed by itself, as it is served.
const each = await Promise.all([...wasm].map(async (file) => sizes(await readFile(file))));
console.log(sizes(bundled.outputFiles[0].contents).join(" "));
console.log([0, 1, 2].map((i) => each.reduce((sum, one) => sum + one[i], 0)).join(" "));
