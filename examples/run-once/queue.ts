import { type LeaseClient, LeaseError } from "leasehold";
import { chargeOnce } from "./charge.ts";
import type { Ledger, Order } from "./ledger.ts";

/** What is used of a message of Cloudflare Queues. */
export interface Message {
  readonly body: Order;
  ack(): void;
  retry(options: { readonly delaySeconds: number }): void;
}

/**
 * Consumes messages that are delivered at least once, so some of them again: a message that was
 * dealt with is acknowledged without doing anything, one that another consumer is at comes back.
 */
export function consumer(
  leases: LeaseClient,
  ledger: Ledger,
): (batch: { readonly messages: readonly Message[] }) => Promise<void> {
  return async ({ messages }) => {
    for (const message of messages) {
      try {
        await chargeOnce(leases, ledger, message.body);
        message.ack();
      } catch (error) {
        if (!LeaseError.is(error)) throw error;
        message.retry({ delaySeconds: Math.ceil((error.retryAfterMs ?? 1_000) / 1_000) });
      }
    }
  };
}
