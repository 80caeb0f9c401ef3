/** What a cold start pays: each wasm compiled and instantiated, each entry point imported. */

import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { heading, ms, table } from "./support/report.ts";
import { alternate } from "./support/rounds.ts";
import { median, quantile } from "./support/stats.ts";

const PROCESSES = 15;
const CHILD = fileURLToPath(new URL("./cold/child.ts", import.meta.url));
const WASM = ["client", "redis", "memory", "host"];
const IMPORTS = [
  "leasehold",
  "leasehold/memory",
  "leasehold/upstash",
  "@upstash/lock",
  "redlock",
  "redis-semaphore",
  "ioredis",
];

const run = promisify(execFile);

/** In a process of its own, which has compiled nothing yet. */
async function fresh(...args: string[]): Promise<number[]> {
  const { stdout } = await run(process.execPath, [CHILD, ...args]);
  return JSON.parse(stdout) as number[];
}

heading("cold", `medians of ${PROCESSES} fresh processes each, in turns`);

const instantiated = await alternate(
  PROCESSES,
  Object.fromEntries(WASM.map((name) => [name, () => fresh("wasm", name)])),
);
table(
  ["wasm", "KB", "compile ms", "instantiate ms"],
  [...instantiated].map(([name, samples]) => [
    name,
    (sizeOf(name) / 1_024).toFixed(1),
    ...[0, 1].map((part) => ms(median(samples.map((sample) => sample[part] ?? Number.NaN)))),
  ]),
);

const imported = await alternate(
  PROCESSES,
  Object.fromEntries(IMPORTS.map((name) => [name, () => fresh("import", name)])),
);
table(
  ["import", "median ms", "p95 ms"],
  [...imported].map(([name, samples]) => [
    name,
    ms(median(samples.flat())),
    ms(quantile(samples.flat(), 0.95)),
  ]),
);

const { used = [] } = Object.fromEntries(
  await alternate(PROCESSES, { used: () => fresh("use", "leasehold/memory") }),
);
table(
  ["acquire + release, leasehold/memory", "median ms"],
  ["the first of a process", "the second"].map((name, index) => [
    name,
    ms(median(used.map((sample) => sample[index] ?? Number.NaN))),
  ]),
);

function sizeOf(name: string): number {
  return statSync(new URL(`../pkg/wasm/${name}/${name}_bg.wasm`, import.meta.url)).size;
}
