/**
 * An instance of a service that writes a report at fixed times. However many instances there are,
 * each report is written once.
 *
 *     LEASEHOLD_URL=https://… LEASEHOLD_TOKEN=… node main.ts anna
 *
 * EVERY_MS is the time from one report to the next: an hour, unless said otherwise.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { LeaseClient, LeaseError } from "leasehold";
import { httpFromEnv } from "leasehold/http";
import { onSchedule } from "leasehold/schedule";

const [, , name = `node-${process.pid}`] = process.argv;
const everyMs = Number(process.env.EVERY_MS ?? 3_600_000);
const leases = new LeaseClient(httpFromEnv(), { holder: name });

for (;;) {
  const at = (Math.floor(Date.now() / everyMs) + 1) * everyMs;
  await sleep(at - Date.now());
  try {
    const firing = await onSchedule(leases, "report", { at, everyMs }, writeReport);
    const what = firing.ran ? firing.result : `skipped, ${firing.skipped}`;
    console.log(`${name} ${firing.slot.toISOString()} ${what}`);
  } catch (error) {
    if (!LeaseError.is(error)) throw error;
    console.log(`${name} failed: ${error.message}`);
  }
}

async function writeReport(): Promise<string> {
  return "written";
}
