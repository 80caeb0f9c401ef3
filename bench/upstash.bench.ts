/** Acquire and release with nobody else around, against what two round trips take anyway. */

import { setTimeout as sleep } from "node:timers/promises";
import { bare, type Locker, leasehold, lockers, twoFetches } from "./peers/lockers.ts";
import { Backend } from "./support/backend.ts";
import { heading, ms, redisVersion, table, verdict } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median, quantile } from "./support/stats.ts";

const ROUNDS = 50;
const PAIRS = 20;
const WARM_UP = 200;
const BASE = "two bare fetches (REST)";
const OURS = "leasehold (REST)";
const PEER = "@upstash/lock 0.2.1 (REST)";
/** Not the least that a database is away, but the least that a timer can tell well. */
const AWAY_MS = 5;
const FAR_BASE = `two bare fetches, ${AWAY_MS} ms away`;
const FAR_OURS = `leasehold, ${AWAY_MS} ms away`;

/** The same endpoint, as far away as in another town. */
const farFetch: typeof fetch = async (input, init) => {
  await sleep(AWAY_MS);
  return fetch(input, init);
};

await using backend = await Backend.start();
const far = { [FAR_BASE]: twoFetches(farFetch), [FAR_OURS]: leasehold(farFetch) };
const clients = Object.entries({ ...bare, ...lockers, ...far }).map(
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
function ratioTo(base: string, name: string): number {
  const bases = roundsOf(results, base).map(median);
  const rounds = roundsOf(results, name).map(median);
  return median(rounds.map((round, index) => round / (bases[index] ?? Number.NaN)));
}

table(
  ["", "median ms", "p95 ms", "ratio", "samples"],
  [...results].map(([name, rounds]) => {
    const all = rounds.flat();
    const ratio = ratioTo(name in far ? FAR_BASE : BASE, name).toFixed(2);
    return [name, ms(median(all)), ms(quantile(all, 0.95)), ratio, String(all.length)];
  }),
);
for (const [base, ours, target] of [
  [PEER, OURS, 1.25],
  [FAR_BASE, FAR_OURS, 1.08],
] as const) {
  const ratio = ratioTo(base, ours);
  verdict(`${ours} to ${base}`, ratio, target, ratio <= target);
}
for (const [, client] of clients) client.close();
