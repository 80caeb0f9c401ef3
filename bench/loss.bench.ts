/** When a holder learns that its term is over, once the server is gone, and how hard it tries. */

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { LeaseClient } from "leasehold";
import { upstash } from "leasehold/upstash";
import { Mutex } from "redis-semaphore";
import Redlock from "redlock";
import { RestEndpoint } from "../tests/rest-endpoint/endpoint.ts";
import { RedisServer } from "../tests/rest-endpoint/server-process.ts";
import { heading, redisVersion, table, verdict } from "./support/report.ts";
import { median } from "./support/stats.ts";

const TTL_MS = 1_000;
const WATCH_MS = 3_000;
const ROUNDS = 5;
const TARGET_ATTEMPTS = 10;

/** How the server goes: it refuses connections at once, or keeps them and is silent. */
const FAILURES = { "fails fast": "kill", hangs: "freeze" } as const;

interface Round {
  /** From the last term's start to the signal, in milliseconds; nothing if there was none. */
  readonly signalMs: number | undefined;
  /** Renewals tried from the failure to one term's length after it. */
  readonly attempts: number;
}

/** Ends the server once the lock is held, and watches what the holder does and hears. */
class Watch {
  readonly #redis: RedisServer;
  readonly #failure: "kill" | "freeze";
  #start = Number.NaN;
  #signalMs: number | undefined;
  #attempts = 0;
  #isOver = false;

  constructor(redis: RedisServer, failure: "kill" | "freeze") {
    this.#redis = redis;
    this.#failure = failure;
  }

  /** Called as the lock is held: nothing renews it any more. */
  async fail(): Promise<void> {
    this.#start = performance.now();
    if (this.#failure === "kill") await this.#redis.kill();
    else this.#redis.freeze();
    await sleep(WATCH_MS);
    this.#isOver = true;
  }

  tried(): void {
    if (performance.now() - this.#start <= TTL_MS) this.#attempts += 1;
  }

  heard(): void {
    if (this.#isOver) return;
    this.#signalMs ??= performance.now() - this.#start;
  }

  get round(): Round {
    return { signalMs: this.#signalMs, attempts: this.#attempts };
  }
}

async function leasehold(redis: RedisServer, watch: Watch): Promise<void> {
  await using endpoint = await RestEndpoint.start({
    redis: { port: redis.port },
    supportsKeyLocking: false,
  });
  const counted: typeof fetch = (input, init) => {
    // Not the release that takes back what a renewal in doubt may have done.
    if (String(init?.body).includes('"renew"')) watch.tried();
    return fetch(input, init);
  };
  const { url, token } = endpoint;
  const leases = new LeaseClient(upstash({ url, token, fetch: counted }));
  const lease = await leases.acquire("order:1", { ttlMs: TTL_MS });
  lease.signal.addEventListener("abort", () => watch.heard());
  await watch.fail();
}

async function redlock(redis: RedisServer, watch: Watch): Promise<void> {
  const client = await connect(redis, watch);
  const over = Promise.withResolvers<void>();
  const using = new Redlock([client]).using(["order:1"], TTL_MS, async (signal) => {
    signal.addEventListener("abort", () => watch.heard());
    await watch.fail();
    over.resolve();
  });
  // It goes on for seconds with what nobody is interested in.
  using.catch(over.reject);
  await over.promise;
  client.disconnect();
}

async function redisSemaphore(redis: RedisServer, watch: Watch): Promise<void> {
  const client = await connect(redis, watch);
  const onLockLost = () => watch.heard();
  const mutex = new Mutex(client, "order:1", { lockTimeout: TTL_MS, onLockLost });
  await mutex.acquire();
  await watch.fail();
  mutex.stopRefresh();
  client.disconnect();
}

/** A client that fails at once while it has no connection: its default is to queue for ever. */
async function connect(redis: RedisServer, watch: Watch): Promise<Redis> {
  const client = new Redis({ port: redis.port, host: "127.0.0.1", enableOfflineQueue: false });
  client.on("error", () => {});
  await once(client, "ready");
  return new Proxy(client, {
    get(target, name) {
      if (name === "eval" || name === "evalsha") {
        return (...args: [string, number]) => {
          watch.tried();
          return target[name](...args);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

const holders = {
  leasehold,
  "redlock 5.0.0-beta.2": redlock,
  "redis-semaphore 5.8.0": redisSemaphore,
};

heading(
  "loss",
  `ttl ${TTL_MS} ms, the server goes as the lock is got, watched for ${WATCH_MS} ms, ` +
    `medians of ${ROUNDS} rounds, all side by side`,
  redisVersion(),
);
// A refresh that fails is nobody's to catch in one of them.
let unhandled = 0;
process.on("unhandledRejection", () => {
  unhandled += 1;
});
for (const [name, failure] of Object.entries(FAILURES)) {
  const results = new Map<string, Round[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    const measured = Object.entries(holders).map(async ([holder, run]) => {
      const rounds = results.get(holder) ?? [];
      results.set(holder, rounds);
      rounds.push(await measure(run, failure));
    });
    await Promise.all(measured);
  }
  console.log(`the server ${name}`);
  table(
    ["", "signal after ms", "renewals tried in a term"],
    [...results].map(([holder, rounds]) => [
      holder,
      signalOf(rounds),
      String(median(rounds.map(({ attempts }) => attempts))),
    ]),
  );
  const ours = results.get("leasehold") ?? [];
  const latest = Math.max(...ours.map(({ signalMs }) => signalMs ?? Number.POSITIVE_INFINITY));
  const attempts = Math.max(...ours.map((round) => round.attempts));
  verdict("leasehold, latest signal, ms", latest, TTL_MS, latest < TTL_MS);
  verdict("leasehold, most renewals", attempts, TARGET_ATTEMPTS, attempts <= TARGET_ATTEMPTS);
  console.log();
}
console.log(`promises rejected with nobody to catch: ${unhandled}`);

async function measure(
  run: (redis: RedisServer, watch: Watch) => Promise<void>,
  failure: "kill" | "freeze",
): Promise<Round> {
  await using redis = await RedisServer.start();
  const watch = new Watch(redis, failure);
  await run(redis, watch);
  return watch.round;
}

function signalOf(rounds: Round[]): string {
  const heard = rounds.flatMap(({ signalMs }) => (signalMs === undefined ? [] : [signalMs]));
  if (heard.length < rounds.length) return `not in ${WATCH_MS}`;
  return median(heard).toFixed(0);
}
