/**
 * Acquire, renew, release, over and over: nothing may grow. `LEASEHOLD_SOAK_CYCLES` says how often
 * (1,000 by default; 100,000 for the long run).
 */

import "../support/started-wasm.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type LeaseBackend, LeaseClient } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { wasmOf } from "../support/started-wasm.ts";
import { Workers } from "../workerd/harness.ts";
import type { Host } from "../workerd/host.ts";
import { usage } from "./measure.ts";

const CYCLES = Number(process.env.LEASEHOLD_SOAK_CYCLES ?? 1_000);
const WARM_UP = Math.min(300, CYCLES);
/** Noise of the collector and of the runtime's own caches. */
const HEAP_ALLOWANCE = 4 * 2 ** 20;

const wasmBytes = (name: "Holder" | "MemoryHost") => wasmOf(name).memory.buffer.byteLength;

async function cycle(leases: LeaseClient, key: string, seen: Set<string>): Promise<void> {
  const lease = await leases.acquire(key, { ttlMs: 5_000 });
  lease.addEventListener("lost", () => assert.fail("lost"));
  assert.ok(!seen.has(String(lease.fence)), "a fence was granted twice");
  if (seen.size < 10_000) seen.add(String(lease.fence));
  await lease.renew();
  assert.deepEqual(await lease.release(), { released: true });
}

/** Runs the cycles; the warm-up is not counted, nor what a test's own parts are told to forget. */
async function soak(host: LeaseBackend, forget = () => {}): Promise<void> {
  const leases = new LeaseClient(host);
  const fences = new Set<string>();
  for (let index = 0; index < WARM_UP; index += 1) await cycle(leases, "soak", fences);
  forget();
  const before = { ...(await usage()), wasm: wasmBytes("Holder"), host: wasmBytes("MemoryHost") };
  for (let index = 0; index < CYCLES; index += 1) await cycle(leases, "soak", fences);
  forget();
  const after = { ...(await usage()), wasm: wasmBytes("Holder"), host: wasmBytes("MemoryHost") };
  assert.equal(after.wasm, before.wasm, "the client's wasm memory grew");
  assert.equal(after.host, before.host, "the embedded host's wasm memory grew");
  assert.ok(
    after.timers <= before.timers,
    `timers: ${before.timers} before, ${after.timers} after`,
  );
  const growth = after.heapBytes - before.heapBytes;
  assert.ok(growth < HEAP_ALLOWANCE, `the heap grew by ${growth} bytes`);
  assert.equal(leases.heldLeases.length, 0);
}

describe(`${CYCLES} cycles leave nothing behind`, { timeout: 120_000 + CYCLES * 60 }, () => {
  test("on the embedded host", () => soak(memory()));

  test("on Redis: an idle key costs one document of bounded size, which goes by itself", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({
      redis: { port: server.port },
      supportsKeyLocking: true,
    });
    const host = upstash({ url: endpoint.url, token: endpoint.token });
    await soak(host, () => endpoint.requests.clear());
    const document = "leasehold:{k:soak}:lease";
    assert.deepEqual(await command(endpoint, "KEYS", "*"), [document]);
    const size = Number(await command(endpoint, "STRLEN", document));
    assert.ok(size < 6_500, `${size} bytes`);
    const days = Number(await command(endpoint, "PTTL", document)) / 86_400_000;
    assert.ok(days > 29.9 && days < 30.1, `${days} days`);
  });

  test("on a Durable Object: an idle key costs one row of bounded size", async () => {
    await using workers = await Workers.startTestHost();
    const namespace = workers.namespace<Host>("LEASES");
    await soak(durableObject(namespace));
    const object = namespace.getByName("key/soak");
    const [stored] = await object.sql(
      "SELECT count(*) AS rows, sum(length(value)) AS bytes FROM records",
    );
    assert.equal(stored?.rows, 1);
    assert.ok(Number(stored?.bytes) < 5_000, `${stored?.bytes} bytes`);
    const days = (Number(await object.alarmAt()) - Date.now()) / 86_400_000;
    assert.ok(days > 29.9 && days <= 30, `woken in ${days} days, to forget the key`);
  });

  test("in workerd: neither the client's nor the host's wasm memory grows", async () => {
    await using workers = await Workers.start({
      name: "soak",
      entry: new URL("./soak-worker.ts", import.meta.url),
      durableObjects: { LEASES: "TestHost" },
    });
    const run = async (cycles: number) => {
      const response = await fetch(new URL(`/?cycles=${cycles}`, await workers.url()));
      return (await response.json()) as { held: number; client: number; host: number };
    };
    const before = await run(WARM_UP);
    for (let done = 0; done < CYCLES; done += 1_000) {
      assert.deepEqual(await run(Math.min(1_000, CYCLES - done)), before);
    }
    assert.equal(before.held, 0);
  });
});

async function command(endpoint: RestEndpoint, ...words: string[]): Promise<unknown> {
  const response = await fetch(endpoint.url, {
    method: "POST",
    headers: { authorization: `Bearer ${endpoint.token}` },
    body: JSON.stringify(words),
  });
  return ((await response.json()) as { result: unknown }).result;
}
