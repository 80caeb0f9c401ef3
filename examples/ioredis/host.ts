import { once } from "node:events";
import type { Redis } from "ioredis";
import type { LeaseBackend } from "leasehold";
import { redis } from "leasehold/redis";

/** What the client must be made with: the lease client itself asks again, and knows when. */
export const SEND_ONCE = {
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
} as const;

/** Leases on the Redis of a client, and on a second connection that only listens. */
export function ioredisHost(client: Redis): LeaseBackend & AsyncDisposable {
  const listeners = new Map<string, () => void>();
  const subscriber = client.duplicate();
  subscriber.on("error", () => {}); // It connects again by itself; until then waiters poll.
  subscriber.on("message", (channel) => listeners.get(channel)?.());

  const host = redis({
    send: ([name = "", ...args]) => client.call(name, args),
    listen: async (channel, onMessage, signal) => {
      listeners.set(channel, onMessage);
      try {
        await subscriber.subscribe(channel);
        if (!signal.aborted) await once(signal, "abort");
      } finally {
        listeners.delete(channel);
        await subscriber.unsubscribe(channel);
      }
    },
  });
  return Object.assign(host, {
    [Symbol.asyncDispose]: async () => subscriber.disconnect(),
  });
}
