/** Work that is done once, in workerd: `runOnce` against an idempotency table written by hand. */

import { readFileSync } from "node:fs";
import { Workers } from "../tests/ts/workerd/harness.ts";
import { heading, table } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median } from "./support/stats.ts";

const ROUNDS = 11;
const KEYS = 48;
const TABLE = "table, by hand";
const CONTENDERS = { [TABLE]: "table", "leases.runOnce": "runOnce" };

const workerd = readFileSync(new URL("../node_modules/workerd/package.json", import.meta.url));
heading(
  "run-once",
  `calls per second, ${KEYS} keys with an object each, medians of ${ROUNDS} alternating rounds`,
  `workerd ${JSON.parse(String(workerd)).version}`,
);
await using workers = await Workers.start({
  name: "bench",
  entry: new URL("./run-once/objects.ts", import.meta.url),
  durableObjects: { LEASES: "LeaseHost", TABLE: "IdempotencyTable" },
});
const url = await workers.url();
let serial = 0;

/** The rates of a call that does the work, and of one that finds it done. */
async function round(contender: string, atOnce: number): Promise<[first: number, again: number]> {
  serial += 1;
  const call = async (expected: number) => {
    const started = performance.now();
    const path = [contender, `round-${serial}`, KEYS, atOnce].join("/");
    const { ran } = (await (await fetch(new URL(path, url))).json()) as { ran: number };
    if (ran !== expected) throw new Error(`${contender} ran ${ran} times, not ${expected}`);
    return (KEYS * 1_000) / (performance.now() - started);
  };
  return [await call(KEYS), await call(0)];
}

for (const atOnce of [1, 16]) {
  console.log(`${atOnce} at once`);
  const contenders = Object.entries(CONTENDERS).map(
    ([name, contender]) => [name, () => round(contender, atOnce)] as const,
  );
  for (const [, warmUp] of contenders) await warmUp();
  const results = await alternate(ROUNDS, Object.fromEntries(contenders));
  const base = roundsOf(results, TABLE);
  const ratio = (rounds: [number, number][], which: 0 | 1) =>
    median(rounds.map((each, index) => each[which] / (base[index]?.[which] ?? Number.NaN)));
  table(
    ["", "first/s", "ratio", "again/s", "ratio"],
    [...results].map(([name, rounds]) => [
      name,
      median(rounds.map(([first]) => first)).toFixed(0),
      ratio(rounds, 0).toFixed(2),
      median(rounds.map(([, again]) => again)).toFixed(0),
      ratio(rounds, 1).toFixed(2),
    ]),
  );
}
