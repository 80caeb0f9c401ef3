/** Acquire and release with nobody else around, against what two round trips take anyway. */

import { bare, type Locker, lockers } from "./peers/lockers.ts";
import { Backend } from "./support/backend.ts";
import { heading, ms, redisVersion, table, verdict } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median, quantile } from "./support/stats.ts";

const ROUNDS = 60;
const PAIRS = 20;
const WARM_UP = 300;
const BASE = "two bare fetches (REST)";
const OURS = "leasehold (REST)";
const TARGET = 1.1;

await using backend = await Backend.start();
const clients = Object.entries({ ...bare, ...lockers }).map(
  ([name, open]) => [name, open(backend)] as const,
);

async function round({ acquire }: Locker, pairs: number): Promise<number[]> {
  const took: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const started = performance.now();
    const release = await acquire(`order:${pair}`);
    await release();
    took.push(performance.now() - started);
  }
  return took;
}

heading(
  "upstash",
  `acquire + release, uncontended, ${ROUNDS} alternating rounds of ${PAIRS} pairs`,
  redisVersion(),
);
for (const [, client] of clients) await round(client, WARM_UP);
const results = await alternate(
  ROUNDS,
  Object.fromEntries(clients.map(([name, client]) => [name, () => round(client, PAIRS)])),
);

/** Each round is compared with the base's round beside it; the median of these is the ratio. */
const baseMedians = roundsOf(results, BASE).map(median);
const ratioOf = (rounds: number[][]) =>
  median(rounds.map((round, index) => median(round) / (baseMedians[index] ?? Number.NaN)));

table(
  ["", "median ms", "p95 ms", "ratio", "samples"],
  [...results].map(([name, rounds]) => {
    const all = rounds.flat();
    return [
      name,
      ms(median(all)),
      ms(quantile(all, 0.95)),
      ratioOf(rounds).toFixed(2),
      String(all.length),
    ];
  }),
);
const ours = ratioOf(roundsOf(results, OURS));
verdict(`${OURS} to ${BASE}`, ours, TARGET, ours <= TARGET);
for (const [, client] of clients) client.close();
