/** The examples of election, schedule and services: real processes, a real host. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { Miniflare, type MiniflareOptions } from "miniflare";
import { bundle } from "../workerd/harness.ts";
import { leaseHost } from "./lease-host.ts";

/** Starts an example's processes, all of them on one host. */
async function started(t: TestContext, example: string, settings: object) {
  const host = await leaseHost(t);
  const main = fileURLToPath(new URL(`../../../examples/${example}/main.ts`, import.meta.url));
  const start = (...args: string[]): { child: ChildProcess; next(): Promise<string> } => {
    const env = { ...process.env, ...host, ...settings };
    const stdio = ["ignore", "pipe", "inherit"] as const;
    const child = spawn(process.execPath, [main, ...args], { env, stdio: [...stdio] });
    t.after(() => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator]();
    return { child, next: async () => String((await lines.next()).value) };
  };
  const operator = new LeaseClient(http({ url: host.LEASEHOLD_URL, token: host.LEASEHOLD_TOKEN }));
  return { start, operator };
}

test("a leader stays up until it is lost; who is next in line takes over from a crash", async (t) => {
  const { start, operator } = await started(t, "leader", { TERM_MS: "1500" });
  const anna = start("anna");
  assert.match(await anna.next(), /^anna leads under fence \d+$/);
  const ben = start("ben");
  const benLeads = ben.next();
  while ((await operator.inspect("leader:billing"))?.waiters !== 1) await soon();
  // For longer than a term nothing but the lease keeps anna up.
  await new Promise((wake) => setTimeout(wake, 2_000));
  assert.equal(anna.child.exitCode, null);
  const [told] = (await operator.inspect("leader:billing"))?.holders ?? [];
  assert.deepEqual(told?.entries, { value: "http://anna.internal" });

  anna.child.kill("SIGKILL");
  assert.match(await benLeads, /^ben leads under fence \d+$/);
  assert.equal(await operator.revoke("leader:billing"), true);
  assert.equal(await ben.next(), "ben leads no more: revoked");
  assert.deepEqual(await once(ben.child, "exit"), [0, null]);
});

test("a leader that is told to stop is followed at once", async (t) => {
  const { start, operator } = await started(t, "leader", { TERM_MS: "600000" });
  const anna = start("anna");
  assert.match(await anna.next(), /^anna leads/);
  const ben = start("ben");
  while ((await operator.inspect("leader:billing"))?.waiters !== 1) await soon();
  anna.child.kill("SIGTERM");
  assert.deepEqual(await once(anna.child, "exit"), [0, null]);
  assert.match(await ben.next(), /^ben leads/);
});

test("a candidate that is told to stop while it waits ends in order", async (t) => {
  const { start, operator } = await started(t, "leader", { TERM_MS: "600000" });
  assert.match(await start("anna").next(), /^anna leads/);
  const ben = start("ben");
  while ((await operator.inspect("leader:billing"))?.waiters !== 1) await soon();
  ben.child.kill("SIGTERM");
  assert.deepEqual(await once(ben.child, "exit"), [0, null]);
  while ((await operator.inspect("leader:billing"))?.waiters !== 0) await soon();
});

test("of several Node processes with one schedule each planned time has one run", async (t) => {
  const { start } = await started(t, "schedule", { EVERY_MS: "1500" });
  const instances = ["anna", "ben", "cyd"].map((name) => start(name));
  const runs = new Map<string, string[]>();
  await Promise.all(
    instances.map(async ({ next }) => {
      for (let firing = 0; firing < 6; firing += 1) {
        const [, slot = "", what = ""] = (await next()).split(/ (\S+Z) /);
        runs.set(slot, [...(runs.get(slot) ?? []), what]);
      }
    }),
  );
  const complete = [...runs].filter(([, outcomes]) => outcomes.length === instances.length);
  assert.ok(complete.length >= 2, "they fired for the same times");
  for (const [slot, outcomes] of complete) {
    assert.deepEqual(outcomes.sort(), ["skipped, done", "skipped, done", "written"], slot);
  }
});

test("a cron trigger of two deployments writes each report once", async (t) => {
  const script = fileURLToPath(new URL("../../../examples/workers/src/cron.ts", import.meta.url));
  const deployment = async (name: string, objects: object) => ({
    name,
    modules: await bundle(script),
    compatibilityDate: "2026-07-01",
    durableObjects: { LEASES: { className: "LeaseHost", useSQLite: true, ...objects } },
  });
  const workers = [await deployment("blue", {}), await deployment("green", { scriptName: "blue" })];
  const said: string[] = [];
  const runtime = new Miniflare({
    workers,
    handleRuntimeStdio: (stdout: NodeJS.ReadableStream) => {
      createInterface({ input: stdout }).on("line", (line) => said.push(line));
    },
  } as unknown as MiniflareOptions);
  t.after(() => runtime.dispose());
  const fire = async (name: string, scheduledTime: Date) => {
    const worker = await runtime.getWorker(name);
    const { outcome } = await worker.scheduled({ scheduledTime, cron: "0 * * * *" });
    assert.equal(outcome, "ok");
  };
  const hour = 3_600_000;
  const at = new Date(Math.floor(Date.now() / hour) * hour);
  await Promise.all([fire("blue", at), fire("green", at)]);
  while (said.length < 2) await soon();
  const slot = at.toISOString();
  // In the second half of an hour both would come too late to run it.
  const isLate = Date.now() - at.getTime() >= hour / 2;
  const expected = isLate ? ["late", "late"] : ["done", "written"];
  assert.deepEqual(
    said.sort(),
    expected.map((outcome) => `${slot} ${outcome}`),
  );
});

test("services: who stops leaves at once, who dies within its term, whoever watches is told", async (t) => {
  const { start } = await started(t, "services", { TERM_MS: "2000" });
  const list = async (instance: ReturnType<typeof start>, wanted: string) => {
    for (let line = await instance.next(); line !== wanted; line = await instance.next()) {
      assert.notEqual(line, "undefined", `${wanted} was never told`);
    }
  };
  const anna = start("anna", "8001");
  await list(anna, "anna http://127.0.0.1:8001");
  const ben = start("ben", "8002");
  const both = "anna http://127.0.0.1:8001, ben http://127.0.0.1:8002";
  await list(anna, both);
  await list(ben, both);
  const cyd = start("cyd", "8003");
  await list(anna, `${both}, cyd http://127.0.0.1:8003`);

  cyd.child.kill("SIGKILL");
  await list(anna, both);
  ben.child.kill("SIGTERM");
  assert.deepEqual(await once(ben.child, "exit"), [0, null]);
  await list(anna, "anna http://127.0.0.1:8001");
});

function soon(): Promise<void> {
  return new Promise((wake) => setTimeout(wake, 20));
}
