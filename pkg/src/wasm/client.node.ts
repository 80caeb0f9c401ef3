import { readFileSync } from "node:fs";
import { initSync } from "../../wasm/client/client.js";

initSync({ module: readFileSync(new URL("../../wasm/client/client_bg.wasm", import.meta.url)) });

export * from "../../wasm/client/client.js";
