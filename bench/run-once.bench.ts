/** Work that is done once, in workerd: `runOnce` against an idempotency table written by hand. */

import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { Workers } from "../tests/ts/workerd/harness.ts";
import { heading, table } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median } from "./support/stats.ts";

const ROUNDS = 9;
const KEYS = 32;
const TABLE = "table, by hand";
const CONTENDERS = { [TABLE]: "table", "leases.runOnce": "runOnce" };
/** Each object makes a database: on a disk that is most of what a first call takes. */
const PLACES = [
  { name: "storage on disk", folder: tmpdir(), atOnce: 1 },
  { name: "storage in memory", folder: "/dev/shm", atOnce: 1 },
  { name: "storage in memory", folder: "/dev/shm", atOnce: 16 },
].filter(({ folder }) => existsSync(folder));

const workerd = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url));
heading(
  "run-once",
  `calls per second, ${KEYS} keys with an object each, medians of ${ROUNDS} alternating rounds`,
  `workerd ${JSON.parse(String(workerd)).version}`,
);
let serial = 0;

/** The rates of a call that does the work, and of one that finds it done. */
async function round(
  url: URL,
  contender: string,
  atOnce: number,
): Promise<[first: number, again: number]> {
  serial += 1;
  const path = [contender, `round-${serial}`, KEYS, atOnce].join("/");
  const call = async (expected: number) => {
    const started = performance.now();
    const { ran } = (await (await fetch(new URL(path, url))).json()) as { ran: number };
    if (ran !== expected) throw new Error(`${contender} ran ${ran} times, not ${expected}`);
    return (KEYS * 1_000) / (performance.now() - started);
  };
  return [await call(KEYS), await call(0)];
}

for (const { name, folder, atOnce } of PLACES) {
  process.env.TMPDIR = folder;
  await using workers = await Workers.start({
    name: "bench",
    entry: new URL("./run-once/objects.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost", TABLE: "IdempotencyTable" },
  });
  const url = await workers.url();
  console.log(`${name}, ${atOnce} at once`);
  const contenders = Object.entries(CONTENDERS).map(
    ([each, contender]) => [each, () => round(url, contender, atOnce)] as const,
  );
  for (const [, warmUp] of contenders) await warmUp();
  const results = await alternate(ROUNDS, Object.fromEntries(contenders));
  const base = roundsOf(results, TABLE);
  const ratio = (rounds: [number, number][], which: 0 | 1) =>
    median(rounds.map((each, index) => each[which] / (base[index]?.[which] ?? Number.NaN)));
  table(
    ["", "first/s", "ratio", "again/s", "ratio"],
    [...results].map(([each, rounds]) => [
      each,
      median(rounds.map(([first]) => first)).toFixed(0),
      ratio(rounds, 0).toFixed(2),
      median(rounds.map(([, again]) => again)).toFixed(0),
      ratio(rounds, 1).toFixed(2),
    ]),
  );
}
