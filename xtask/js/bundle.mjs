// Makes the JavaScript of pkg/dist from what pkg/entries.json names, and the exports of pkg/package.json.
// Usage: node bundle.mjs <folder>, which has the declarations in types/, from the repository's folder.

import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { rolldown } from "rolldown";

const [out] = process.argv.slice(2);
const source = resolve("pkg/src");

/** Entries in the file of another one, which they need: each file takes time to open. */
const within = { upstash: "redis" };
const entries = Object.entries(JSON.parse(await readFile("pkg/entries.json", "utf8"))).map(
  ([subpath, file]) => {
    const name = subpath === "." ? "index" : subpath.slice("./".length);
    const isForWorkerd = file.startsWith("host/");
    return { subpath, path: join(source, file), file, name: within[name] ?? name, isForWorkerd };
  },
);

/**
 * One tree per condition, in the order of `exports`, and what an import of a wasm file means there.
 * Workers and Vercel's edge compile nothing at run time: a module has to come from an import.
 */
const trees = {
  workerd: (name) => ({ id: `../wasm/${name}.wasm`, external: true }),
  "edge-light": (name) => ({ id: `../wasm/${name}.wasm?module`, external: true }),
  default: (name) => ({ id: resolve(wasmFile(name)) }),
};

/** What a module leads to by its imports, itself included. */
function reached(id, graph, seen = new Set()) {
  if (!seen.has(id)) {
    seen.add(id);
    for (const next of graph.getModuleInfo(id)?.importedIds ?? []) reached(next, graph, seen);
  }
  return seen;
}

/** Whether a module needs wasm to run. */
function needsWasm(id, graph) {
  const isWasms = (each) => each.startsWith("\0started:") || each.includes(resolve("pkg/wasm"));
  return [...reached(id, graph)].some(isWasms);
}

const wasmNames = new Set();

/**
 * The files to make, where `#redis-script` is, and what differs from tree to tree: imports of `#x-wasm`,
 * and sources such as `x.workerd.ts` beside `x.ts`. A file that another one imports stays as it is.
 */
function conditional(tree, meaning) {
  return {
    name: "conditional",
    resolveId(specifier, importer) {
      if (importer === undefined) return specifier;
      if (specifier.startsWith(".") && specifier.endsWith(".js")) {
        const path = resolve(dirname(importer), specifier.replace(/js$/, ""));
        if (existsSync(`${path}${tree}.ts`)) return `${path}${tree}.ts`;
        const entry = entries.find((each) => each.path === `${path}ts`);
        const own = entries.find((each) => each.path === importer);
        if (entry !== undefined && entry.name !== own?.name) {
          return { id: `./${entry.name}.js`, external: true };
        }
      }
      if (specifier === "#redis-script") return resolve("pkg/wasm/redis/script.js");
      const [, started] = /^#(.*)-wasm$/.exec(specifier) ?? [];
      if (started !== undefined) return `\0started:${started}`;
      const [, name] = /([^/]*)_bg\.wasm$/.exec(specifier) ?? [];
      if (name === undefined) return null;
      wasmNames.add(name);
      return meaning(name);
    },
    async load(id) {
      if (id.endsWith("_bg.wasm")) {
        const code = `
          import { compile } from ${JSON.stringify(join(source, "wasm/inlined.ts"))};
          export default () => compile("${await readFile(id, "base64")}");`;
        return { code, map: { mappings: "" } };
      }
      const [, paths] = /^\0together:(.*)$/.exec(id) ?? [];
      if (paths !== undefined) {
        return JSON.parse(paths)
          .map((path) => `export * from ${JSON.stringify(path)};`)
          .join("\n");
      }
      const [, name] = /^\0started:(.*)$/.exec(id) ?? [];
      if (name === undefined) return null;
      const compiled = new WebAssembly.Module(await readFile(wasmFile(name)));
      const imports = WebAssembly.Module.imports(compiled).map((wanted) => wanted.name);
      const glue = await readFile(`pkg/wasm/${name}/${name}.js`, "utf8");
      return `
        import module from "${name}_bg.wasm";
        import { lazy } from ${JSON.stringify(join(source, "wasm/lazy.ts"))};
        ${withoutEffects(glue)}
        let wasm = /* @__PURE__ */ lazy(
          module,
          { "./${name}_bg.js": { ${imports} } },
          (exports) => { wasm = exports; },
        );`;
    },
  };
}

/**
 * wasm-bindgen's glue as a bundle can leave it out that needs none of its functions: no statement does
 * anything when the module is read.
 */
function withoutEffects(glue) {
  return [
    ["\nlet wasm;", ""],
    ["new FinalizationRegistry", "/* @__PURE__ */ new FinalizationRegistry"],
    [/if \(Symbol\.dispose\).*/g, ""],
  ].reduce((text, [from, to]) => text.replaceAll(from, to), glue);
}

function wasmFile(name) {
  return `pkg/wasm/${name}/${name}_bg.wasm`;
}

async function bundle(tree, meaning) {
  const here = entries.filter(({ isForWorkerd }) => tree === "workerd" || !isForWorkerd);
  const input = {};
  for (const [name, of] of Map.groupBy(here, (entry) => entry.name)) {
    const paths = of.map(({ path }) => path);
    input[name] = paths.length === 1 ? paths[0] : `\0together:${JSON.stringify(paths)}`;
  }
  const isReached = (file, id, graph) => reached(input[file], graph).has(id);
  const isShared = (id, graph) =>
    Object.keys(input).filter((file) => isReached(file, id, graph)).length > 1;
  const chunk = (id, graph) => {
    // A Worker may have the host alone: what loads wasm stays apart there.
    if (tree === "workerd") return isShared(id, graph) && !needsWasm(id, graph) ? "shared" : null;
    // Elsewhere the client is one file, with what several others share.
    const isClients = isReached("index", id, graph);
    return isClients || (isShared(id, graph) && !needsWasm(id, graph)) ? "index" : null;
  };
  const bundled = await rolldown({
    input,
    external: /^cloudflare:/,
    platform: "neutral",
    // What other files need of the client, it exports beside what its declarations have: to hide that
    // would take another file.
    preserveEntrySignatures: "allow-extension",
    resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
    transform: { target: "es2022" },
    plugins: [conditional(tree, meaning)],
    onLog(level, log) {
      if (level === "warn") throw new Error(log.message);
    },
  });
  const { output } = await bundled.write({
    dir: join(out, tree),
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
    minifyInternalExports: false,
    // A process that starts reads all of it; a debugger has the map.
    minify: {
      compress: true,
      mangle: { keepNames: { class: true, function: false } },
      codegen: true,
    },
    sourcemap: true,
    // The declarations have them, and a process that starts need not read them.
    comments: { jsdoc: false },
    codeSplitting: {
      groups: [{ debugName: "chunk", name: chunk }],
    },
  });
  await bundled.close();
  return output;
}

/** Removes the declarations that no entry leads to. */
async function pruneDeclarations() {
  const types = resolve(out, "types");
  const wanted = new Set();
  const want = async (file) => {
    if (wanted.has(file)) return;
    wanted.add(file);
    const text = (await readFile(file, "utf8")).replace(/\/\*.*?\*\//gs, "");
    for (const [, specifier] of text.matchAll(/(?:from|import)\s*\(?"([^"]*)"/g)) {
      if (specifier.startsWith("./") || specifier.startsWith("../")) {
        await want(join(dirname(file), specifier.replace(/\.js$/, ".d.ts")));
      } else if (specifier !== "cloudflare:workers") {
        throw new Error(`${file} needs ${specifier}, which a user of the package does not have`);
      }
    }
  };
  for (const { file } of entries) await want(join(types, file.replace(/\.ts$/, ".d.ts")));
  for (const entry of await readdir(types, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !wanted.has(path)) await rm(path);
  }
}

async function writeExports() {
  const exported = Object.fromEntries(
    entries.map(({ subpath, name, file, isForWorkerd }) => {
      const where = isForWorkerd ? [["default", "workerd"]] : Object.keys(trees).map((t) => [t, t]);
      const conditions = where.map(([condition, tree]) => [condition, `./dist/${tree}/${name}.js`]);
      const types = `./dist/types/${file.replace(/\.ts$/, ".d.ts")}`;
      return [subpath, { types, ...Object.fromEntries(conditions) }];
    }),
  );
  const path = "pkg/package.json";
  const before = await readFile(path, "utf8");
  const manifest = JSON.parse(before);
  manifest.exports = { ...exported, "./package.json": "./package.json" };
  const after = `${JSON.stringify(manifest, null, 2)}\n`;
  if (after !== before) await writeFile(path, after);
}

for (const [tree, meaning] of Object.entries(trees)) await bundle(tree, meaning);
await mkdir(join(out, "wasm"));
for (const name of wasmNames) await copyFile(wasmFile(name), join(out, `wasm/${name}.wasm`));
await pruneDeclarations();
await writeExports();
