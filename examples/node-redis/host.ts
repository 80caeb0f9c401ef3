import { once } from "node:events";
import type { LeaseBackend } from "leasehold";
import { redis } from "leasehold/redis";

/** What is needed of a client, whatever its modules and settings. */
interface Client {
  sendCommand(command: string[], options: { abortSignal: AbortSignal }): Promise<unknown>;
  duplicate(): Subscriber;
}

interface Subscriber {
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: () => void): unknown;
  subscribe(channel: string, listener: () => void): Promise<unknown>;
  unsubscribe(channel: string, listener: () => void): Promise<unknown>;
}

/** Leases on the Redis of a connected client, and on a second connection that only listens. */
export async function nodeRedisHost(client: Client): Promise<LeaseBackend & AsyncDisposable> {
  const subscriber = client.duplicate();
  subscriber.on("error", () => {}); // It connects again by itself; until then waiters poll.
  await subscriber.connect();

  const host = redis({
    send: (command, signal) => client.sendCommand(command, { abortSignal: signal }),
    listen: async (channel, onMessage, signal) => {
      try {
        await subscriber.subscribe(channel, onMessage);
        if (!signal.aborted) await once(signal, "abort");
      } finally {
        await subscriber.unsubscribe(channel, onMessage);
      }
    },
  });
  return Object.assign(host, {
    [Symbol.asyncDispose]: async () => subscriber.destroy(),
  });
}
