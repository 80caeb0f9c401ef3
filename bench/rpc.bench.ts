/** Acquire and release by RPC in workerd: the product's object against one written by hand. */

import { readFileSync } from "node:fs";
import { Workers } from "../tests/ts/workerd/harness.ts";
import { heading, table, verdict } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median } from "./support/stats.ts";

const ROUNDS = 9;
const PAIRS = 96;
const TARGET = 0.9;
const SETTINGS = [
  { name: "one caller, one object", concurrency: 1, objects: 1 },
  { name: "16 callers, one object", concurrency: 16, objects: 1 },
  { name: "16 callers, each its own object", concurrency: 16, objects: 16 },
];
const CONTENDERS = {
  "hand-written": "HAND_WRITTEN",
  "hand-written, with alarms": "WITH_ALARM",
  leasehold: "LEASEHOLD",
  "leasehold, through its client": "CLIENT",
};

await using workers = await Workers.start({
  name: "bench",
  entry: new URL("./rpc/objects.ts", import.meta.url),
  durableObjects: {
    LEASEHOLD: "LeaseHost",
    HAND_WRITTEN: "HandWritten",
    WITH_ALARM: "HandWrittenWithAlarm",
  },
});
const url = await workers.url();

/** Pairs per second. */
async function run(binding: string, pairs: number, setting: (typeof SETTINGS)[number]) {
  const { concurrency, objects } = setting;
  const path = [binding, setting.objects, pairs, concurrency, objects].join("/");
  const started = performance.now();
  const response = await fetch(new URL(path, url));
  if (!response.ok) throw new Error(await response.text());
  await response.text();
  return (pairs * 1_000) / (performance.now() - started);
}

const workerd = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url));
heading(
  "rpc",
  `acquire + release pairs per second, medians of ${ROUNDS} alternating rounds of ${PAIRS} pairs`,
  `workerd ${JSON.parse(String(workerd)).version}`,
);
for (const setting of SETTINGS) {
  for (const binding of Object.values(CONTENDERS)) await run(binding, PAIRS, setting);
  const results = await alternate(
    ROUNDS,
    Object.fromEntries(
      Object.entries(CONTENDERS).map(([name, binding]) => [
        name,
        () => run(binding, PAIRS, setting),
      ]),
    ),
  );
  const base = roundsOf(results, "hand-written");
  const ratioOf = (rates: number[]) =>
    median(rates.map((rate, index) => rate / (base[index] ?? Number.NaN)));
  console.log(setting.name);
  table(
    ["", "pairs/s", "ratio", "rounds"],
    [...results].map(([name, rates]) => [
      name,
      median(rates).toFixed(0),
      ratioOf(rates).toFixed(2),
      String(rates.length),
    ]),
  );
  const ours = ratioOf(roundsOf(results, "leasehold"));
  verdict("leasehold to hand-written", ours, TARGET, ours >= TARGET);
  console.log();
}
