/**
 * Real clients against the real hosts, with faults between them; then the simulation's checkers
 * judge what they believed and wrote. `LEASEHOLD_HISTORY_SECONDS` and `LEASEHOLD_SEED` set the
 * length and the schedule.
 */

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";
import { FAULTS, FaultProxy } from "./fault-proxy.ts";
import { Client, History, WorkerClient } from "./history.ts";
import { Rng } from "./rng.ts";

const SECONDS = Number(process.env.LEASEHOLD_HISTORY_SECONDS ?? 12);
const SEED = Number(process.env.LEASEHOLD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const CLIENTS = 5;

interface Host {
  readonly kind: "durable-object" | "redis";
  readonly token: string;
  /** Where it is now: it may move when it is started again. */
  url(): Promise<URL>;
  /** How many handlers beside it contend as well. */
  readonly handlers: number;
  /** Ends the host's process or its memory, and starts it again on what it has stored. */
  crash(): Promise<void>;
}

async function contend(host: Host, crashes: boolean, exclusion: boolean): Promise<void> {
  const rng = new Rng(SEED);
  const history = new History();
  await using proxy = await FaultProxy.start(() => host.url(), rng);
  const clients = Array.from(
    { length: CLIENTS },
    (_, number) => new Client(history, number, [host.kind, proxy.url, host.token]),
  );
  const handlers = Array.from(
    { length: host.handlers },
    (_, index) => new WorkerClient(history, CLIENTS + index, () => host.url()),
  );
  const did = { kill: 0, freeze: 0, crash: 0 };
  const acts = ["kill", "freeze", "freeze", ...(crashes ? (["crash"] as const) : [])] as const;
  let turn = 0;
  const end = performance.now() + SECONDS * 1_000;
  try {
    while (performance.now() < end) {
      await new Promise((wake) => setTimeout(wake, rng.between(200, 700)));
      // In turn, so that none is left out of a short run.
      const act = acts[turn % acts.length] as keyof typeof did;
      turn += 1;
      did[act] += 1;
      if (act === "crash") await host.crash();
      else if (act === "kill") await rng.pick(clients).kill();
      else await rng.pick(clients).freeze(rng.between(100, 1_500));
    }
  } finally {
    await Promise.all([...clients, ...handlers].map((client) => client.stop()));
  }
  const faults = Object.fromEntries(proxy.fired);
  const failures = Object.fromEntries(history.failures);
  const { grants, writes, refused } = history;
  console.log(
    JSON.stringify({
      seed: SEED,
      host: host.kind,
      grants,
      writes,
      refused,
      ...did,
      faults,
      failures,
    }),
  );
  console.log((await history.judge(exclusion)).trim());
  assert.ok(grants > SECONDS, `only ${grants} grants`);
  for (let handler = 0; handler < host.handlers; handler += 1) {
    assert.ok(history.grantsOf(CLIENTS + handler) > 0, "a handler was never granted anything");
  }
  for (const fault of FAULTS) assert.ok(faults[fault], `no ${fault} in this run`);
  assert.ok(did.kill > 0 && did.freeze > 0, "no client was killed or frozen in this run");
  if (crashes) assert.ok(did.crash > 0, "the host did not crash in this run");
}

describe(`histories of real clients, seed ${SEED}`, { timeout: 600_000 }, () => {
  test("the Durable Object, its runtime ended and started again: one holder, rising fences", async () => {
    const token = "a-token-for-the-contenders";
    await using workers = await Workers.start({
      name: "leasehold",
      entry: new URL("./contender-worker.ts", import.meta.url),
      durableObjects: { LEASES: "LeaseHost" },
      vars: { LEASEHOLD_TOKENS: token },
    });
    const host: Host = {
      kind: "durable-object",
      token,
      url: () => workers.url(),
      handlers: 2,
      crash: () => workers.restart(),
    };
    await contend(host, true, true);
  });

  test("Redis: one holder, rising fences", async () => {
    await using server = await RedisServer.start();
    await using host = await redisHost(server);
    await contend(host, false, true);
  });

  test("Redis, killed and started again: rising fences", async () => {
    await using server = await RedisServer.start({ appendOnly: true });
    await using host = await redisHost(server);
    await contend(host, true, false);
  });
});

async function redisHost(server: RedisServer): Promise<Host & AsyncDisposable> {
  const endpoint = await RestEndpoint.start({
    redis: { port: server.port },
    supportsKeyLocking: true,
  });
  return {
    kind: "redis",
    token: endpoint.token,
    handlers: 0,
    url: async () => new URL(endpoint.url),
    crash: async () => {
      await server.kill();
      await server.restart();
    },
    [Symbol.asyncDispose]: () => endpoint.close(),
  };
}
