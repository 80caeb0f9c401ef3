/** Compiles a module that stands in the code as base64: no file to find, no request to wait for. */
export declare function compile(base64: string): WebAssembly.Module;
