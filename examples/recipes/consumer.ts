import { LeaseClient, LeaseError } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { type Env, type Order, ship } from "./shipping.ts";

export { LeaseHost } from "leasehold/host";

const A_DAY_MS = 86_400_000;

interface Message {
  readonly body: Order;
  ack(): void;
  retry(options: { readonly delaySeconds: number }): void;
}

export default {
  /** Messages come at least once, so some of them again, and two consumers may have the same one. */
  async queue({ messages }: { readonly messages: readonly Message[] }, env: Env): Promise<void> {
    const leases = new LeaseClient(durableObject(env.LEASES));
    for (const message of messages) {
      const { id } = message.body;
      try {
        const once = { keepMs: A_DAY_MS, waitMs: 0 };
        await leases.runOnce(`order:${id}`, once, (lease) => ship(env, id, lease.fence));
        message.ack();
      } catch (error) {
        if (!LeaseError.is(error)) throw error; // Every message of the batch comes again.
        message.retry({ delaySeconds: Math.ceil((error.retryAfterMs ?? 1_000) / 1_000) });
      }
    }
  },
};
