/**
 * The exports of a module whose instance is made at the first use of them: an import alone compiles
 * nothing. From then on `become` has the exports themselves.
 *
 * The module may come from another realm: some hosts compile it outside of the one the code runs in.
 */
export function lazy(
  module: WebAssembly.Module | (() => WebAssembly.Module),
  imports: WebAssembly.Imports,
  become: (exports: WebAssembly.Exports) => void,
): WebAssembly.Exports {
  const made = () => {
    const compiled = typeof module === "function" ? module() : module;
    const { exports } = new WebAssembly.Instance(compiled, imports);
    become(exports);
    (exports as unknown as { __wbindgen_start(): void }).__wbindgen_start();
    return exports;
  };
  return new Proxy({}, { get: (_, name) => made()[name as string] });
}
