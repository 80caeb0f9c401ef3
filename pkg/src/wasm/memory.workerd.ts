import { initSync } from "../../wasm/memory/memory.js";
import module from "../../wasm/memory/memory_bg.wasm";

initSync({ module });

export * from "../../wasm/memory/memory.js";
