import type { LeaseBackend } from "../lease/backend.js";
import { argument, hasMethod, having, optionsOf } from "../lease/check.js";
import { closed } from "./closed.js";
import { type RedisSettings, redis, SETTINGS } from "./redis.js";
import { type Subscriber, Subscriptions } from "./subscriptions.js";

interface SendOptions {
  readonly abortSignal: AbortSignal;
}

interface PubSub {
  subscribe(channel: string, hear: () => void): Promise<unknown>;
  unsubscribe(channel: string, hear: () => void): Promise<unknown>;
}

/** What is needed of a client of `redis` (node-redis). */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  sendCommand(command: string[], options: SendOptions): Promise<unknown>;
  duplicate(): NodeRedisSubscriber;
}

/** What is needed of its duplicate. */
export interface NodeRedisSubscriber extends PubSub {
  on(event: "error", listener: () => void): unknown;
  connect(): Promise<unknown>;
  /** From version 5 on. */
  destroy?(): void;
  /** Before. */
  disconnect?(): unknown;
}

/** What is needed of a cluster of `redis` (node-redis). It has a connection for listening itself. */
export interface NodeRedisCluster extends PubSub {
  readonly isOpen: boolean;
  readonly slots: readonly unknown[];
  sendCommand(
    firstKey: string | undefined,
    isReadonly: boolean,
    command: string[],
    options: SendOptions,
  ): Promise<unknown>;
}

const CLIENT = having("a client or a cluster of redis (node-redis)", "sendCommand", "subscribe");

/**
 * The Redis or the cluster of a client of `redis` (node-redis) as a lease host. While somebody
 * waits for a lease, a duplicate of the client listens; it closes by itself.
 *
 * @param client - Has to be connected before the first lease is asked for. Stays yours: close it
 * when the leases are released.
 * @throws LeaseError `INVALID` for anything else, and for a bad option.
 */
export function nodeRedis(
  client: NodeRedisClient | NodeRedisCluster,
  options?: RedisSettings,
): LeaseBackend {
  argument("client", CLIENT, client);
  const settings = optionsOf(SETTINGS, options);
  const isCluster = !hasMethod(client, "duplicate") || "slots" in client;
  const { send, open } = isCluster
    ? ofCluster(client as NodeRedisCluster)
    : ofClient(client as NodeRedisClient);
  const subscriptions = new Subscriptions(open);
  return redis({
    ...settings,
    isCluster,
    send: async (command, signal) => {
      try {
        return await send(command, { abortSignal: signal });
      } catch (error) {
        throw client.isOpen ? error : closed();
      }
    },
    listen: (...listening) => subscriptions.listen(...listening),
  });
}

interface Way {
  send(command: string[], options: SendOptions): Promise<unknown>;
  open(): Subscriber;
}

function ofClient(client: NodeRedisClient): Way {
  return {
    send: (command, options) => client.sendCommand(command, options),
    open: () => {
      const connection = client.duplicate();
      connection.on("error", () => {}); // It connects again by itself; until then waiters poll.
      const connected = connection.connect();
      return {
        subscribe: async (channel, hear) => {
          await connected;
          await connection.subscribe(channel, hear);
        },
        unsubscribe: (channel, hear) => connection.unsubscribe(channel, hear),
        close: () => end(connection),
      };
    },
  };
}

/** One that has never connected throws, or rejects, and stops trying all the same. */
async function end(connection: NodeRedisSubscriber): Promise<void> {
  try {
    await (connection.destroy ? connection.destroy() : connection.disconnect?.());
  } catch {
    // There is nothing to end.
  }
}

function ofCluster(cluster: NodeRedisCluster): Way {
  return {
    // A script's keys follow its text or hash and their number.
    send: (command, options) => cluster.sendCommand(command[3], false, command, options),
    open: () => ({
      subscribe: (channel, hear) => cluster.subscribe(channel, hear),
      unsubscribe: (channel, hear) => cluster.unsubscribe(channel, hear),
      close: () => {},
    }),
  };
}
