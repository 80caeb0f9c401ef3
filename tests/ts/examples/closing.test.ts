import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { redisHost } from "../support/hosts.ts";
import { leaseHost } from "./lease-host.ts";

const KEY = "report:daily";

test("a Node worker that gets SIGTERM leaves its key free and its place in the queue empty", async (t) => {
  const host = await leaseHost(t);
  const operator = new LeaseClient(http({ url: host.LEASEHOLD_URL, token: host.LEASEHOLD_TOKEN }));
  const start = (): ChildProcess => {
    const main = fileURLToPath(new URL("../../../examples/node-worker/main.ts", import.meta.url));
    const env = { ...process.env, ...host };
    const worker = spawn(process.execPath, [main], { env, stdio: ["ignore", "pipe", "inherit"] });
    t.after(() => worker.kill("SIGKILL"));
    return worker;
  };
  const waiters = async (count: number) => {
    while ((await operator.inspect(KEY))?.waiters !== count) {
      await new Promise((wake) => setTimeout(wake, 20));
    }
  };

  const holder = start();
  const lines = createInterface({ input: holder.stdout ?? process.stdin })[Symbol.asyncIterator]();
  assert.match(String((await lines.next()).value), /^working under fence \d+$/);
  const waiter = start();
  await waiters(1);

  waiter.kill("SIGTERM");
  assert.deepEqual(await once(waiter, "exit"), [0, null]);
  await waiters(0);

  holder.kill("SIGTERM");
  assert.deepEqual(await once(holder, "exit"), [0, null]);
  assert.equal((await lines.next()).value, "stopped");
  const next = await operator.tryAcquire(KEY);
  assert.ok(next, "the key is free long before the term of 30 seconds ends");
  await next.release();
});

test("a module that is loaded again closes the client of its last evaluation", async (t) => {
  const host = await redisHost();
  t.after(host.close);
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  process.env.UPSTASH_REDIS_REST_URL = host.url;
  process.env.UPSTASH_REDIS_REST_TOKEN = host.token;
  const load = async (version: number): Promise<LeaseClient> => {
    const module = new URL(`../../../examples/hot-reload/leases.ts?v=${version}`, import.meta.url);
    return ((await import(module.href)) as { leases: LeaseClient }).leases;
  };

  const old = await (await load(1)).acquire("watcher");
  const leases = await load(2);
  assert.equal(old.held, false);
  const lease = await leases.tryAcquire("watcher");
  assert.ok(lease);
  assert.ok(lease.fence > old.fence);
  await leases.close();
});
