/**
 * Makes the instance of a module and gives it to wasm-bindgen's glue.
 *
 * The module may come from another realm: some hosts compile it outside of the one the code runs in.
 */
export declare function start(module: WebAssembly.Module, imports: WebAssembly.Imports, setWasm: (exports: WebAssembly.Exports) => void): void;
