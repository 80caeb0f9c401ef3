/**
 * A process that leads until it loses its leadership; others of its kind wait in line, and the
 * first of them takes over.
 *
 *     LEASEHOLD_URL=https://… LEASEHOLD_TOKEN=… node main.ts anna
 *
 * TERM_MS shortens the term: the longest that nobody leads after a crash.
 */

import { LeaseClient } from "leasehold";
import { election } from "leasehold/election";
import { httpFromEnv } from "leasehold/http";

const [, , name = `node-${process.pid}`] = process.argv;
const ttlMs = Number(process.env.TERM_MS ?? 10_000);

// The lease keeps the process up for as long as it leads, whether or not it has anything else to do.
const leases = new LeaseClient(httpFromEnv(), { holder: name, keepProcessAlive: true });
const billing = election<string>(leases, "leader:billing", { ttlMs });

const stopping = new AbortController();

process.once("SIGTERM", async () => {
  stopping.abort();
  await leases.close();
});

try {
  const { signal } = stopping;
  const leadership = await billing.campaign(`http://${name}.internal`, { signal });
  console.log(`${name} leads under fence ${leadership.fence}`);
  leadership.addEventListener("lost", ({ error }) => {
    console.log(`${name} leads no more: ${error.reason}`);
  });
} catch (error) {
  if (!stopping.signal.aborted) throw error;
}
