/** Acquire and release by RPC in workerd: the product's object against one written by hand. */

import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Workers } from "../tests/ts/workerd/harness.ts";
import { heading, table, verdict } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median } from "./support/stats.ts";

const CROWDS = [
  { name: "one caller, one object", concurrency: 1, objects: 1 },
  { name: "16 callers, one object", concurrency: 16, objects: 1 },
  { name: "16 callers, each its own object", concurrency: 16, objects: 16 },
];
/** Each transaction is synced: on a disk that is most of the cost, in memory the code is. */
const STORAGES = [
  {
    name: "storage on disk",
    folder: tmpdir(),
    target: 0.9,
    rounds: 7,
    pairs: 48,
    crowds: CROWDS.slice(0, 2),
  },
  {
    name: "storage in memory",
    folder: "/dev/shm",
    target: 0.8,
    rounds: 15,
    pairs: 192,
    crowds: CROWDS,
  },
].filter(({ folder }) => existsSync(folder));
const CONTENDERS = {
  "hand-written": "HAND_WRITTEN",
  "hand-written, with alarms": "HAND_WRITTEN_WITH_ALARM",
  leasehold: "LEASEHOLD",
  "leasehold, through its client": "CLIENT",
};

const workerd = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url));
heading(
  "rpc",
  "acquire + release pairs per second inside of workerd, medians of alternating rounds",
  `workerd ${JSON.parse(String(workerd)).version}`,
);
for (const storage of STORAGES) {
  process.env.TMPDIR = storage.folder;
  await using workers = await Workers.start({
    name: "bench",
    entry: new URL("./rpc/objects.ts", import.meta.url),
    durableObjects: {
      LEASEHOLD: "LeaseHost",
      SHARD: "LeaseShard",
      HAND_WRITTEN: "HandWritten",
      HAND_WRITTEN_WITH_ALARM: "HandWrittenWithAlarm",
    },
  });
  const url = await workers.url();
  for (const crowd of storage.crowds) {
    console.log(`${storage.name}, ${crowd.name}`);
    await compare(storage, (binding) => run(url, binding, storage.pairs, crowd));
  }
}

/** Pairs per second. */
async function run(url: URL, binding: string, pairs: number, crowd: (typeof CROWDS)[number]) {
  const { concurrency, objects } = crowd;
  const path = [binding, objects, pairs, concurrency, objects].join("/");
  const started = performance.now();
  const response = await fetch(new URL(path, url));
  const said = await response.text();
  if (!response.ok) throw new Error(said);
  return (pairs * 1_000) / (performance.now() - started);
}

async function compare(
  { rounds, target }: (typeof STORAGES)[number],
  rate: (binding: string) => Promise<number>,
): Promise<void> {
  const contenders = Object.entries(CONTENDERS).map(
    ([name, binding]) => [name, () => rate(binding)] as const,
  );
  for (const [, warmUp] of contenders) await warmUp();
  const results = await alternate(rounds, Object.fromEntries(contenders));
  const base = roundsOf(results, "hand-written");
  const ratioOf = (rates: number[]) =>
    median(rates.map((rate, index) => rate / (base[index] ?? Number.NaN)));
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
  verdict("leasehold to hand-written", ours, target, ours >= target);
  console.log();
}
