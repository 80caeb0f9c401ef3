/** One fresh process: loads one thing, prints how long that took in milliseconds. */

import { readFileSync } from "node:fs";

const kinds: Record<string, (name: string) => number[] | Promise<number[]>> = {
  wasm: instantiate,
  import: load,
  use,
};
const [kind = "", name = ""] = process.argv.slice(2);
console.log(JSON.stringify(await kinds[kind]?.(name)));

/** The same as the package does at import: compile, instantiate, and run what comes first. */
function instantiate(name: string): number[] {
  const file = new URL(`../../pkg/wasm/${name}/${name}_bg.wasm`, import.meta.url);
  const bytes = readFileSync(file);
  const started = performance.now();
  const module = new WebAssembly.Module(bytes);
  const compiled = performance.now();
  new WebAssembly.Instance(module, stubs(module));
  return [compiled - started, performance.now() - compiled];
}

/** Imports are not called while instantiating: any function does. */
function stubs(module: WebAssembly.Module): Record<string, Record<string, () => void>> {
  const imports: Record<string, Record<string, () => void>> = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    imports[from] = { ...imports[from], [name]: () => {} };
  }
  return imports;
}

async function load(specifier: string): Promise<number[]> {
  const started = performance.now();
  await import(specifier);
  return [performance.now() - started];
}

/** The first and the second lease of a process, from a host that answers at once. */
async function use(): Promise<number[]> {
  const { LeaseClient } = await import("leasehold");
  const { memory } = await import("leasehold/memory");
  const leases = new LeaseClient(memory());
  const took: number[] = [];
  for (const key of ["first", "second"]) {
    const started = performance.now();
    await (await leases.acquire(key)).release();
    took.push(performance.now() - started);
  }
  return took;
}
