/** From a release to the next holder, with many waiting for the same key. */

import { setTimeout as sleep } from "node:timers/promises";
import { type Locker, lockers } from "./peers/lockers.ts";
import { Backend } from "./support/backend.ts";
import { type Count, Monitor } from "./support/monitor.ts";
import { heading, ms, redisVersion, table, verdict } from "./support/report.ts";
import { alternate, roundsOf } from "./support/rounds.ts";
import { median, quantile } from "./support/stats.ts";

const HOLD_MS = 15;
const CROWDS = [
  { waiters: 20, rounds: 3 },
  { waiters: 100, rounds: 2 },
];
/** So many wait once before the clock runs. */
const WARM_UP = 21;
const OURS = "leasehold (REST)";
const TARGET_MS = 5;
const TARGET_SENT = 6;
const TARGET_BILLED = 16;

interface Round {
  /** From each release to the grant after it, in milliseconds. */
  readonly gaps: number[];
  readonly grants: number;
  readonly count: Count;
}

await using backend = await Backend.start();
using monitor = await Monitor.open(backend.redisPort);
let rounds = 0;

/** Everybody comes while one holds; from then on each holds for a moment. */
async function crowd(clients: Locker[]): Promise<Round> {
  rounds += 1;
  const key = `order:${rounds}`;
  const [first, ...waiters] = clients;
  const gaps: number[] = [];
  let releasedAt = 0;
  const count = await monitor.during(backend.redisPort, async () => {
    const release = await first?.acquire(key);
    const waiting = waiters.map(async ({ acquire }) => {
      const next = await acquire(key);
      gaps.push(performance.now() - releasedAt);
      await sleep(HOLD_MS);
      releasedAt = performance.now();
      await next();
    });
    await sleep(300);
    releasedAt = performance.now();
    await release?.();
    await Promise.all(waiting);
  });
  return { gaps, grants: clients.length, count };
}

heading(
  "handover",
  `release to next holder, each holds for ${HOLD_MS} ms, a client of its own each`,
  redisVersion(),
);
for (const { waiters, rounds } of CROWDS) {
  const clients = Object.entries(lockers).map(
    ([name, open]) => [name, Array.from({ length: waiters + 1 }, () => open(backend))] as const,
  );
  // Connections, scripts and compiled code are there before anything is measured.
  for (const [, each] of clients) {
    await Promise.all(each.map(async ({ acquire }, n) => (await acquire(`own:${n}`))()));
    await crowd(each.slice(0, WARM_UP));
  }
  const results = await alternate(
    rounds,
    Object.fromEntries(clients.map(([name, each]) => [name, () => crowd(each)])),
  );
  console.log(`${waiters} waiters, ${rounds} alternating rounds`);
  table(
    ["", "median ms", "p95 ms", "sent/grant", "billed/grant", "samples"],
    [...results].map(([name, rounds]) => {
      const gaps = rounds.flatMap((round) => round.gaps);
      const { sent, billed } = perGrant(rounds);
      const figures = [median(gaps), quantile(gaps, 0.95), sent, billed].map(ms);
      return [name, ...figures, String(gaps.length)];
    }),
  );
  const ours = roundsOf(results, OURS);
  const gap = median(ours.flatMap((round) => round.gaps));
  verdict("leasehold, median ms", gap, TARGET_MS, gap <= TARGET_MS);
  const { sent, billed } = perGrant(ours);
  verdict("leasehold, sent per grant", sent, TARGET_SENT, sent <= TARGET_SENT);
  verdict("leasehold, billed per grant", billed, TARGET_BILLED, billed <= TARGET_BILLED);
  console.log();
  for (const [, each] of clients) for (const client of each) client.close();
}

/** What clients send per grant, and with what scripts run, which Upstash bills as well. */
function perGrant(rounds: Round[]): { sent: number; billed: number } {
  const sum = (of: (round: Round) => number) => rounds.reduce((all, round) => all + of(round), 0);
  const grants = sum((round) => round.grants);
  const sent = sum((round) => round.count.sent);
  return { sent: sent / grants, billed: (sent + sum((round) => round.count.inScript)) / grants };
}
