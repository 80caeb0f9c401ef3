/**
 * Makes the instance of a module and gives it to wasm-bindgen's glue.
 *
 * The module may come from another realm: some hosts compile it outside of the one the code runs in.
 */
export function start(
  module: WebAssembly.Module,
  imports: WebAssembly.Imports,
  setWasm: (exports: WebAssembly.Exports) => void,
): void {
  const { exports } = new WebAssembly.Instance(module, imports);
  setWasm(exports);
  (exports as unknown as { __wbindgen_start(): void }).__wbindgen_start();
}
