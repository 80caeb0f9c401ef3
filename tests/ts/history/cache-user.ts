/** A process that reads a cached value and writes it, and counts its stale reads. */

import { LeaseClient, LeaseError } from "leasehold";
import { cached } from "leasehold/cache";
import { http } from "leasehold/http";
import { upstash } from "leasehold/upstash";
import { Rng } from "./rng.ts";

const [kind = "", url = "", token = "", store = "", seed = "0"] = process.argv.slice(2);
const leases = new LeaseClient(kind === "redis" ? upstash({ url, token }) : http({ url, token }));
const rng = new Rng(Number(seed));
const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));
const did = { reads: 0, loads: 0, writes: 0, failures: 0, stale: 0 };

/** Asks the store, past all faults. */
const ask = async (path: string, method = "GET"): Promise<number> =>
  Number(await (await fetch(new URL(path, store), { method })).text());

const value = cached(
  leases,
  "value",
  () => {
    did.loads += 1;
    return ask("/value");
  },
  { ttlMs: 2_000 },
);

async function read(): Promise<void> {
  for (;;) {
    const least = await ask("/returned");
    if ((await value.get()) < least) did.stale += 1;
    did.reads += 1;
    await pause(5);
  }
}

async function write(): Promise<void> {
  for (;;) {
    await pause(rng.between(1_500, 4_500));
    try {
      const version = await value.write(() => ask("/value", "POST"));
      await ask(`/returned/${version}`, "POST");
      did.writes += 1;
    } catch (error) {
      if (!LeaseError.is(error)) throw error;
      did.failures += 1;
    }
  }
}

process.on("message", () => process.send?.(did, () => process.exit()));
await Promise.all([read(), write()]);
