/**
 * Real processes that read and write a cached value, frozen now and then, with faults between them
 * and the host. `LEASEHOLD_HISTORY_SECONDS` and `LEASEHOLD_SEED` set the length and the schedule.
 */

import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";
import { FAULTS, FaultProxy } from "./fault-proxy.ts";
import { Rng } from "./rng.ts";

const SECONDS = Number(process.env.LEASEHOLD_HISTORY_SECONDS ?? 12);
const SEED = Number(process.env.LEASEHOLD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const USERS = 3;

interface Told {
  readonly reads: number;
  readonly loads: number;
  readonly writes: number;
  readonly failures: number;
  readonly stale: number;
}

/** The value, and the latest version of which a write has returned. */
async function startStore(): Promise<AsyncDisposable & { readonly url: string }> {
  let value = 0;
  let returned = 0;
  const server = createServer(({ method, url = "" }, response) => {
    const [, what, version] = url.split("/");
    if (what === "value") {
      if (method === "POST") value += 1;
      response.end(String(value));
    } else {
      if (method === "POST") returned = Math.max(returned, Number(version));
      response.end(String(returned));
    }
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function storm(kind: string, token: string, url: () => Promise<URL>): Promise<void> {
  const rng = new Rng(SEED);
  await using store = await startStore();
  await using proxy = await FaultProxy.start(url, rng);
  const users = Array.from({ length: USERS }, (_, index) =>
    fork(new URL("./cache-user.ts", import.meta.url), [
      ...[kind, proxy.url, token, store.url, String(SEED + index)],
    ]),
  );
  const told: Told[] = [];
  try {
    const end = performance.now() + SECONDS * 1_000;
    while (performance.now() < end) {
      await new Promise((wake) => setTimeout(wake, rng.between(300, 900)));
      const frozen = rng.pick(users);
      frozen.kill("SIGSTOP");
      await new Promise((wake) => setTimeout(wake, rng.between(100, 3_000)));
      frozen.kill("SIGCONT");
    }
    for (const user of users) {
      user.send("enough");
      told.push(((await once(user, "message")) as [Told])[0]);
    }
  } finally {
    for (const user of users) user.kill("SIGKILL");
  }
  const sum = (name: keyof Told) => told.reduce((all, each) => all + each[name], 0);
  const names = ["reads", "loads", "writes", "failures", "stale"] as const;
  const total = Object.fromEntries(names.map((name) => [name, sum(name)]));
  console.log(JSON.stringify({ seed: SEED, kind, ...total, ...Object.fromEntries(proxy.fired) }));
  assert.equal(sum("stale"), 0, `seed ${SEED}`);
  assert.ok(sum("writes") > 0, "writes get through");
  assert.ok(sum("reads") - sum("loads") > 2 * SECONDS, "reads are served from memory");
  for (const fault of FAULTS) assert.ok(proxy.fired.get(fault), `no ${fault} in this run`);
}

describe(`a cached value under faults, seed ${SEED}`, { timeout: 600_000 }, () => {
  test("the Durable Object: no read is stale after a write returned", async () => {
    const token = "a-token-for-the-users";
    await using workers = await Workers.start({
      name: "leasehold",
      entry: new URL(import.meta.resolve("leasehold/worker")),
      durableObjects: { LEASES: "LeaseHost" },
      vars: { LEASEHOLD_TOKENS: token },
      flags: ["enable_request_signal"],
    });
    await storm("durable-object", token, () => workers.url());
  });

  test("Redis: no read is stale after a write returned", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({
      redis: { port: server.port },
      supportsKeyLocking: true,
    });
    await storm("redis", endpoint.token, async () => new URL(endpoint.url));
  });
});
