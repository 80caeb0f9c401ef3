/**
 * A hand on the wasm that the package runs on. Import it for its effect, before the package: it
 * remembers each instance that is made from then on.
 */

/** What an instance exports. A test may replace a function: whoever calls finds the new one. */
export type Exports = Record<string, unknown> & {
  readonly memory: { readonly buffer: ArrayBuffer };
  __wbindgen_malloc(size: number, align: number): number;
  __wbindgen_free(pointer: number, size: number, align: number): void;
};

type Make = new (module: unknown, imports: unknown) => { readonly exports: Exports };
const { WebAssembly: runtime } = globalThis as unknown as { WebAssembly: { Instance: Make } };

const { Instance } = runtime;
const started: Exports[] = [];

runtime.Instance = class {
  readonly exports: Exports;

  constructor(module: unknown, imports: unknown) {
    this.exports = { ...new Instance(module, imports).exports };
    started.push(this.exports);
  }
};

/** How many instances have been made. */
export function instances(): number {
  return started.length;
}

/** The latest instance that has this class. */
export function wasmOf(name: "Holder" | "LeaseObject" | "MemoryHost" | "RedisCall"): Exports {
  const found = started.findLast((exports) => `__wbg_${name.toLowerCase()}_free` in exports);
  if (found === undefined) throw new Error(`no wasm with ${name} has been started`);
  return found;
}

/** Takes all memory of an instance, which then traps in whatever it does next; gives it back when called. */
export function exhaust(wasm: Exports): () => void {
  const taken: [pointer: number, size: number][] = [];
  for (let size = 2 ** 26; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) taken.push([wasm.__wbindgen_malloc(size, 1), size]);
    } catch {
      // No piece of this size is left.
    }
  }
  return () => {
    for (const [pointer, size] of taken) wasm.__wbindgen_free(pointer, size, 1);
  };
}
