/** One fresh process: does one thing for the first time, prints how long that took in milliseconds. */

import { readFileSync } from "node:fs";

const kinds: Record<string, (...names: string[]) => number[] | Promise<number[]>> = {
  wasm: instantiate,
  import: load,
  touch,
  use,
};
const [kind = "", ...names] = process.argv.slice(2);
console.log(JSON.stringify(await kinds[kind]?.(...names)));

/** By a clock that Node has ready: `performance` is itself something to load. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The same as the package does at import: compile, instantiate, and run what comes first. */
function instantiate(name: string): number[] {
  const file = new URL(`../../pkg/wasm/${name}/${name}_bg.wasm`, import.meta.url);
  const bytes = readFileSync(file);
  const started = now();
  const module = new WebAssembly.Module(bytes);
  const compiled = now();
  new WebAssembly.Instance(module, stubs(module));
  return [compiled - started, now() - compiled];
}

/** Imports are not called while instantiating: any function does. */
function stubs(module: WebAssembly.Module): Record<string, Record<string, () => void>> {
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] = { ...imports[from], [name]: () => {} };
  }
  return imports;
}

/** Several at once, as by the statements of one module. */
async function load(...specifiers: string[]): Promise<number[]> {
  const started = now();
  await Promise.all(specifiers.map((specifier) => import(specifier)));
  return [now() - started];
}

/** What Node loads at the first use, whoever uses it. */
function touch(name: string): number[] {
  const started = now();
  switch (name) {
    case "crypto":
      crypto.getRandomValues(new Uint8Array(16));
      break;
    case "performance":
      performance.now();
      break;
    case "AbortController":
      new AbortController().abort();
  }
  return [now() - started];
}

/** A client, and the first and the second lease of a process, from a host that answers at once. */
async function use(): Promise<number[]> {
  const begun = now();
  const { LeaseClient } = await import("leasehold");
  const { memory } = await import("leasehold/memory");
  const imported = now();
  const leases = new LeaseClient(memory());
  const took = [imported - begun, now() - imported];
  for (const key of ["first", "second"]) {
    const started = now();
    const lease = await leases.acquire(key);
    const acquired = now();
    await lease.release();
    took.push(acquired - started, now() - acquired);
  }
  return took;
}
