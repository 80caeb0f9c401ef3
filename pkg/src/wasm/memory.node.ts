import { readFileSync } from "node:fs";
import { initSync } from "../../wasm/memory/memory.js";

initSync({ module: readFileSync(new URL("../../wasm/memory/memory_bg.wasm", import.meta.url)) });

export * from "../../wasm/memory/memory.js";
