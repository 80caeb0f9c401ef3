/** Leases and locks that nobody threatens, far from their host: how many are lost all the same. */

import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { Mutex } from "redis-semaphore";
import Redlock from "redlock";
import { RedisServer } from "../tests/rest-endpoint/server-process.ts";
import {
  Distance,
  type FarHost,
  farDurableObject,
  farRedis,
  type Holding,
  isLost,
  NEAREST_MS,
} from "../tests/ts/history/distance.ts";
import { heading, redisVersion, table, verdict } from "./support/report.ts";

const EACH = 5;
const TERMS_MS = [1_000, 5_000, 30_000];
const SHARES = [0.2, 0.4];

interface Contender {
  /** The first term that it can count on, without or after a wait. */
  told(ttlMs: number, waits: boolean): number;
  isLost(holding: Holding): Promise<boolean>;
}

const leasehold = (host: FarHost): Contender => ({
  told: host.told,
  isLost: (holding) => isLost(host, holding),
});

/** Another's lock, held from far away after one that is near; `hold` tells whether it was lost. */
const peer = (
  port: number,
  hold: (redis: Redis, key: string, far: () => void, holding: Holding) => Promise<boolean>,
): Contender => ({
  told: (ttlMs) => ttlMs,
  isLost: async (holding) => {
    await using distance = await Distance.start(port, Math.min(holding.roundTripMs, NEAREST_MS));
    const key = crypto.randomUUID();
    const near = new Redis(port);
    const client = new Redis(distance.port);
    await client.ping();
    if (holding.waits) await near.set(key, "another", "PX", holding.ttlMs);
    const far = () => {
      distance.roundTripMs = holding.roundTripMs;
    };
    try {
      return await hold(client, key, far, holding);
    } finally {
      near.disconnect();
      client.disconnect();
    }
  },
});

async function byRedlock(
  redis: Redis,
  key: string,
  far: () => void,
  { ttlMs, terms }: Holding,
): Promise<boolean> {
  const redlock = new Redlock([redis], { retryCount: 10 + ttlMs / 150 });
  redlock.on("error", () => {});
  return new Promise((tell) => {
    const held = redlock.using([key], ttlMs, async (signal) => {
      far();
      const end = performance.now() + terms * ttlMs;
      while (!signal.aborted && performance.now() < end) await sleep(20);
      tell(signal.aborted);
    });
    // Never granted; or, later than anybody asks, not released.
    held.catch(() => tell(true));
  });
}

async function bySemaphore(
  redis: Redis,
  key: string,
  far: () => void,
  { ttlMs, terms }: Holding,
): Promise<boolean> {
  let isLost = false;
  const onLockLost = () => {
    isLost = true;
  };
  const mutex = new Mutex(redis, key, { lockTimeout: ttlMs, acquireTimeout: 60_000, onLockLost });
  await mutex.acquire();
  far();
  const end = performance.now() + terms * ttlMs;
  while (!isLost && performance.now() < end) await sleep(20);
  await mutex.release();
  return isLost;
}

await using server = await RedisServer.start();
await using object = await farDurableObject();
await using rest = await farRedis(server);
const contenders: Record<string, Contender> = {
  "leasehold, Durable Object": leasehold(object),
  "leasehold, Redis (REST)": leasehold(rest),
  "redlock 5.0.0-beta.2 (TCP)": peer(server.port, byRedlock),
  "redis-semaphore 5.8.0 (TCP)": peer(server.port, bySemaphore),
};

interface Case {
  readonly ttlMs: number;
  readonly share: number;
  readonly waits: boolean;
}

/** How many of one contender's are lost. One that is never granted counts as well. */
async function losses({ told, isLost }: Contender, { ttlMs, share, waits }: Case) {
  const terms = ttlMs < 30_000 ? 4 : 2;
  const holding = { ttlMs, roundTripMs: share * told(ttlMs, waits), waits, terms };
  const each = Array.from({ length: EACH }, () => isLost(holding).catch(() => true));
  return (await Promise.all(each)).filter(Boolean).length;
}

heading("latency", `lost of ${EACH} that nobody threatens, by term and round trip`, redisVersion());
const cases = TERMS_MS.flatMap((ttlMs) =>
  SHARES.flatMap((share) => [false, true].map((waits): Case => ({ ttlMs, share, waits }))),
);
const columns = new Map<Case, number[]>();
async function run(one: Case): Promise<void> {
  columns.set(one, await Promise.all(Object.values(contenders).map((each) => losses(each, one))));
}
// Short terms feel what else the machine does: one case at a time. The others take time and no work.
for (const one of cases.filter(({ ttlMs }) => ttlMs === 1_000)) await run(one);
await Promise.all(cases.filter(({ ttlMs }) => ttlMs > 1_000).map(run));
const names = Object.keys(contenders);
table(
  ["term, round trip", ...names],
  cases.map((one) => [
    `${one.ttlMs / 1_000} s, ${one.share}${one.waits ? ", after a wait" : ""}`,
    ...(columns.get(one) ?? []).map(String),
  ]),
);
const ours = [...columns.values()].flatMap((lost) =>
  lost.filter((_, index) => names[index]?.startsWith("leasehold")),
);
const total = ours.reduce((sum, lost) => sum + lost, 0);
verdict("leasehold, lost", total, 0, total === 0);
