import { readFileSync } from "node:fs";
import { initSync } from "../../wasm/redis/redis.js";

initSync({ module: readFileSync(new URL("../../wasm/redis/redis_bg.wasm", import.meta.url)) });

export * from "../../wasm/redis/redis.js";
