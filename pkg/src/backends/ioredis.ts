import type { LeaseBackend } from "../lease/backend.js";
import { argument, having, optionsOf } from "../lease/check.js";
import { closed } from "./closed.js";
import { type RedisSettings, redis, SETTINGS } from "./redis.js";
import { type Subscriber, Subscriptions } from "./subscriptions.js";

/** What is needed of a client of `ioredis`: a `Redis` or a `Cluster`. */
export interface IoredisClient {
  readonly status: string;
  readonly isCluster?: boolean;
  call(command: string, args: string[]): Promise<unknown>;
  duplicate(): IoredisSubscriber;
}

/** What is needed of its duplicate. */
export interface IoredisSubscriber {
  on(event: "error", listener: () => void): unknown;
  on(event: "message", listener: (channel: string) => void): unknown;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  disconnect(): void;
}

const CLIENT = having("a client of ioredis, a Redis or a Cluster", "call", "duplicate");

/**
 * The Redis or the cluster of a client of `ioredis` as a lease host. While somebody waits for a
 * lease, a duplicate of the client listens; it closes by itself.
 *
 * @param client - Stays yours: close it when the leases are released.
 * @throws LeaseError `INVALID` for anything else, and for a bad option.
 */
export function ioredis(client: IoredisClient, options?: RedisSettings): LeaseBackend {
  argument("client", CLIENT, client);
  const settings = optionsOf(SETTINGS, options);
  const subscriptions = new Subscriptions(() => subscriberOf(client.duplicate()));
  return redis({
    ...settings,
    isCluster: client.isCluster === true,
    send: async ([name = "", ...args]) => {
      try {
        return await client.call(name, args);
      } catch (error) {
        throw client.status === "end" ? closed() : error;
      }
    },
    listen: (...listening) => subscriptions.listen(...listening),
  });
}

function subscriberOf(connection: IoredisSubscriber): Subscriber {
  /** Several may listen to a channel, as do all that watch a key. */
  const heard = new Map<string, Set<() => void>>();
  connection.on("error", () => {}); // It connects again by itself; until then waiters poll.
  connection.on("message", (channel) => {
    for (const hear of heard.get(channel) ?? []) hear();
  });
  return {
    subscribe: (channel, hear) => {
      heard.set(channel, (heard.get(channel) ?? new Set()).add(hear));
      return connection.subscribe(channel);
    },
    unsubscribe: async (channel, hear) => {
      const others = heard.get(channel);
      others?.delete(hear);
      if (others?.size === 0) {
        heard.delete(channel);
        await connection.unsubscribe(channel);
      }
    },
    close: () => connection.disconnect(),
  };
}
