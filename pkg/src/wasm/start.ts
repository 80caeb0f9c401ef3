/**
 * Gives wasm-bindgen's glue an instance of a module that is made at the first use of it: an import
 * alone compiles nothing.
 *
 * The module may come from another realm: some hosts compile it outside of the one the code runs in.
 */
export function start(
  module: WebAssembly.Module | (() => WebAssembly.Module),
  imports: WebAssembly.Imports,
  setWasm: (exports: WebAssembly.Exports) => void,
): void {
  const made = () => {
    const compiled = typeof module === "function" ? module() : module;
    const { exports } = new WebAssembly.Instance(compiled, imports);
    setWasm(exports);
    (exports as unknown as { __wbindgen_start(): void }).__wbindgen_start();
    return exports;
  };
  setWasm(new Proxy({}, { get: (_, name) => made()[name as string] }));
}
