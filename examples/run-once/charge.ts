import { setTimeout as sleep } from "node:timers/promises";
import type { LeaseClient } from "leasehold";
import type { Charge, Ledger, Order } from "./ledger.ts";

const DAY_MS = 86_400_000;

/** How long things take: `ttlMs` until a crashed one is succeeded, `bankMs` and `mailMs` the work. */
export interface Times {
  readonly ttlMs?: number;
  readonly bankMs?: number;
  readonly mailMs?: number;
}

/**
 * Charges an order once, however often this is called. For a day everybody gets the same charge.
 *
 * - Crashed before the ledger was written: the next one charges.
 * - Crashed after it: the next one finds the charge as it takes over, and keeps that.
 * - Frozen in between, and thawed when another has taken over: the ledger refuses its fence.
 */
export async function chargeOnce(
  leases: LeaseClient,
  ledger: Ledger,
  order: Order,
  { ttlMs = 30_000, bankMs = 0, mailMs = 0 }: Times = {},
  log: (line: string) => void = () => {},
): Promise<Charge> {
  const { id, cents } = order;
  // The same id with another amount is another order's: refused, reason `fingerprint`.
  const options = { keepMs: DAY_MS, fingerprint: String(cents), ttlMs };
  return await leases.runOnce(`charge:${id}`, options, async (lease) => {
    const earlier = ledger.takeOver(lease, id);
    if (earlier !== undefined) return earlier;
    log(`charging ${id}`);
    await sleep(bankMs);
    const charge = ledger.charge(lease, order);
    log(`charged ${id}`);
    await sleep(mailMs);
    return charge;
  });
}
