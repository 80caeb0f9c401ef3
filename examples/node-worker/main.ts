/**
 * A worker process that writes reports, one worker at a time, until it is told to stop. Its lease
 * is then free at once, not only when its term ends.
 *
 *     LEASEHOLD_URL=https://… LEASEHOLD_TOKEN=… node main.ts
 */

import { setTimeout as sleep } from "node:timers/promises";
import { type Lease, LeaseClient, LeaseError } from "leasehold";
import { http } from "leasehold/http";

/** How long a job may take to stop. With the release, less than the platform waits to kill. */
const GRACE_MS = 10_000;

const { LEASEHOLD_URL = "", LEASEHOLD_TOKEN = "" } = process.env;
const leases = new LeaseClient(http({ url: LEASEHOLD_URL, token: LEASEHOLD_TOKEN }));
const stopping = new AbortController();

async function writeReport(lease: Lease): Promise<void> {
  console.log(`working under fence ${lease.fence}`);
  // Stops for either reason: the lease was lost, or the process is to end.
  const signal = AbortSignal.any([lease.signal, stopping.signal]);
  await sleep(60_000, undefined, { signal });
}

async function work(): Promise<void> {
  const options = { waitMs: 3_600_000, signal: stopping.signal };
  while (!stopping.signal.aborted) {
    try {
      await leases.run("report:daily", options, writeReport);
    } catch (error) {
      // Another worker had it all the while: go on waiting.
      if (!LeaseError.is(error) || error.code !== "TIMEOUT") throw error;
    }
  }
}

async function stop(): Promise<void> {
  stopping.abort();
  await Promise.race([working, sleep(GRACE_MS)]);
  // What has not stopped by now loses its lease all the same: its fence keeps its writes out.
  const { unconfirmed } = await leases.close({ timeoutMs: 5_000 });
  for (const key of unconfirmed) console.log(`${key} is free when its term has ended`);
  console.log("stopped");
  process.exit();
}

process.once("SIGTERM", stop);
process.once("SIGINT", stop);

const working = work().catch((error: unknown) => {
  if (!stopping.signal.aborted) throw error;
});
await working;
