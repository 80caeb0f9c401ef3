import { initSync } from "../../wasm/client/client.js";
import module from "../../wasm/client/client_bg.wasm";

initSync({ module });

export * from "../../wasm/client/client.js";
