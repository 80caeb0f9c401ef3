import { initSync } from "../../wasm/redis/redis.js";
import module from "../../wasm/redis/redis_bg.wasm";

initSync({ module });

export * from "../../wasm/redis/redis.js";
