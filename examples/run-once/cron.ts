import type { LeaseClient } from "leasehold";
import { chargeOnce } from "./charge.ts";
import type { Charge, Ledger } from "./ledger.ts";

/**
 * The monthly subscription: for the cron trigger of each deployment. During a migration there are
 * two of them, and both fire. (Where there is nothing to be returned, see `onSchedule`.)
 */
export async function monthly(
  leases: LeaseClient,
  ledger: Ledger,
  scheduledTime: number,
): Promise<Charge> {
  const month = new Date(scheduledTime).toISOString().slice(0, "2026-11".length);
  return await chargeOnce(leases, ledger, { id: `subscription:${month}`, cents: 900 });
}
