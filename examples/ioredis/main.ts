/**
 * Three workers want to write the daily report; one at a time does.
 *
 *     REDIS_URL=redis://localhost:6379 node main.ts
 */

import { Redis } from "ioredis";
import { LeaseClient } from "leasehold";
import { ioredis } from "leasehold/ioredis";

const client = new Redis(process.env.REDIS_URL ?? "redis://localhost:6379");
const backend = ioredis(client);

async function writeReport(worker: string): Promise<void> {
  const leases = new LeaseClient(backend, { holder: worker });
  await leases.run("report:daily", { ttlMs: 10_000, waitMs: 20_000 }, async (lease) => {
    console.log(`${worker} writes with fence ${lease.fence}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    lease.check();
    console.log(`${worker} is done`);
  });
}

await Promise.all(["anna", "ben", "carla"].map(writeReport));
await client.quit();
