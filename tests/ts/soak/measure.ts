import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** What a client could leave behind in its process. */
export interface Usage {
  readonly heapBytes: number;
  readonly timers: number;
}

/** The process's use of what leaks, after a collection. */
export async function usage(): Promise<Usage> {
  await new Promise((wake) => setImmediate(wake));
  collect();
  collect();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
  };
}
