/** As much of WebAssembly as is measured: only a browser's types have it. */
declare namespace WebAssembly {
  class Module {
    constructor(bytes: Uint8Array);
    static imports(module: Module): { readonly module: string; readonly name: string }[];
  }

  class Instance {
    constructor(module: Module, imports: Record<string, Record<string, () => void>>);
  }
}
