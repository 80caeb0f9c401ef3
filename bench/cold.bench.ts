/** What a cold start pays: each entry point imported, the first lease, and the parts of both. */

import { execFile } from "node:child_process";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { heading, ms, table, verdict } from "./support/report.ts";
import { alternate } from "./support/rounds.ts";
import { median, quantile } from "./support/stats.ts";

const PROCESSES = 21;
const CHILD = fileURLToPath(new URL("./cold/child.ts", import.meta.url));
const WASM = ["client", "memory", "host"];
const PEER = "@upstash/lock";
const WITH_UPSTASH = "leasehold leasehold/upstash";
const IMPORTS = [
  "leasehold",
  "leasehold/memory",
  "leasehold/upstash",
  WITH_UPSTASH,
  "leasehold/http",
  PEER,
  "redlock",
  "redis-semaphore",
  "ioredis",
];
const TOUCHED = ["crypto", "performance", "AbortController"];

const run = promisify(execFile);

/** In a process of its own, which has loaded and compiled nothing yet. */
async function fresh(...args: string[]): Promise<number[]> {
  const { stdout } = await run(process.execPath, [CHILD, ...args]);
  return JSON.parse(stdout) as number[];
}

/** The samples of each name, by part. */
async function measure(kind: string, names: readonly string[]): Promise<Map<string, number[][]>> {
  const rounds = await alternate(
    PROCESSES,
    Object.fromEntries(names.map((name) => [name, () => fresh(kind, ...name.split(" "))])),
  );
  const byPart = (samples: readonly number[][]) =>
    (samples[0] ?? []).map((_, part) => samples.map((sample) => sample[part] ?? Number.NaN));
  return new Map([...rounds].map(([name, samples]) => [name, byPart(samples)]));
}

const least = (samples: readonly number[] = []) => quantile(samples, 0);
const spread = (samples: readonly number[]) =>
  [median(samples), quantile(samples, 0.95), least(samples)].map(ms);

heading("cold", `${PROCESSES} fresh processes each, in turns`);

const imported = await measure("import", IMPORTS);
const ratio = (name: string) => least(imported.get(name)?.[0]) / least(imported.get(PEER)?.[0]);
table(
  ["import", "median ms", "p95 ms", "min ms", `min × ${PEER}`],
  [...imported].map(([name, [samples = []]]) => [
    name.replace(" ", " + "),
    ...spread(samples),
    ratio(name).toFixed(2),
  ]),
);
verdict("import, minima", ratio("leasehold"), 3.2, ratio("leasehold") <= 3.2);
verdict("import with Upstash, minima", ratio(WITH_UPSTASH), 4.2, ratio(WITH_UPSTASH) <= 4.2);
console.log();

const touched = await measure("touch", TOUCHED);
const [imports = [], made = [], acquired = [], released = [], ...second] =
  (await measure("use", ["memory"])).get("memory") ?? [];
const sum = (parts: readonly number[][]) =>
  acquired.map((_, round) => parts.reduce((total, part) => total + (part[round] ?? 0), 0));
const pair = sum([acquired, released]);
table(
  ["leasehold/memory", "median ms", "p95 ms", "min ms"],
  [
    ["first acquire + release of a process", ...spread(pair)],
    ["  its acquire", ...spread(acquired)],
    ["  its release", ...spread(released)],
    ["second acquire + release", ...spread(sum(second))],
    ["both imports", ...spread(imports)],
    ["the first client", ...spread(made)],
    ["all until the first release", ...spread(sum([imports, made, acquired, released]))],
    ...[...touched].map(([name, [samples = []]]) => [`Node's first ${name}`, ...spread(samples)]),
  ],
);
verdict("first acquire + release, minimum", least(pair), 11, least(pair) <= 11);
console.log();

table(
  ["wasm", "KB", "compile ms", "min ms", "instantiate ms", "min ms"],
  [...(await measure("wasm", WASM))].map(([name, parts]) => [
    name,
    (sizeOf(name) / 1_024).toFixed(1),
    ...parts.flatMap((samples) => [ms(median(samples)), ms(least(samples))]),
  ]),
);

function sizeOf(name: string): number {
  return statSync(new URL(`../pkg/wasm/${name}/${name}_bg.wasm`, import.meta.url)).size;
}
