/** The locks that are measured, each behind the same two calls. */

import { Lock as UpstashLock } from "@upstash/lock";
import { Redis as UpstashRedis } from "@upstash/redis";
import { Redis } from "ioredis";
import { LeaseClient } from "leasehold";
import { upstash } from "leasehold/upstash";
import { Mutex } from "redis-semaphore";
import Redlock from "redlock";
import type { Backend } from "../support/backend.ts";

/** Long enough for nothing to expire or be given up while something is measured. */
const PATIENCE_MS = 60_000;

/** Waits for the lock as long as it takes, and gives the way to release it. */
export type Acquire = (key: string) => Promise<() => Promise<unknown>>;

/** A lock's client, as one process of an application would have it. */
export interface Locker {
  readonly acquire: Acquire;
  close(): void;
}

/** The kinds of lock, by name, with the protocol that they speak. */
export const lockers: Record<string, (backend: Backend) => Locker> = {
  "leasehold (REST)": leasehold(fetch),
  "@upstash/lock 0.2.1 (REST)": (backend) => {
    // Its types are those of another build of the same client.
    const redis = new UpstashRedis({ url: backend.url, token: backend.token }) as never;
    return {
      acquire: async (key) => {
        const lock = new UpstashLock({ id: key, redis, lease: PATIENCE_MS });
        if (!(await lock.acquire({ retry: { attempts: 100_000, delay: 100 } }))) {
          throw new Error("@upstash/lock gave up");
        }
        return () => lock.release();
      },
      close: () => {},
    };
  },
  "redlock 5.0.0-beta.2 (TCP)": (backend) => {
    const redis = connect(backend);
    const redlock = new Redlock([redis], { retryCount: -1 });
    return {
      acquire: async (key) => {
        const lock = await redlock.acquire([key], PATIENCE_MS);
        return () => lock.release();
      },
      close: () => redis.disconnect(),
    };
  },
  "redis-semaphore 5.8.0 (TCP)": (backend) => {
    const redis = connect(backend);
    return {
      acquire: async (key) => {
        const options = { lockTimeout: PATIENCE_MS, acquireTimeout: PATIENCE_MS };
        const mutex = new Mutex(redis, key, options);
        await mutex.acquire();
        return () => mutex.release();
      },
      close: () => redis.disconnect(),
    };
  },
};

/** No lock at all: a command that sets a key and one that deletes it. */
export const bare: Record<string, (backend: Backend) => Locker> = {
  "two bare fetches (REST)": twoFetches(fetch),
  "two bare commands (TCP)": (backend) => {
    const redis = connect(backend);
    return {
      acquire: async (key) => {
        await redis.set(key, "me", "PX", PATIENCE_MS, "NX");
        return () => redis.del(key);
      },
      close: () => redis.disconnect(),
    };
  },
};

function connect({ redisPort }: Backend): Redis {
  return new Redis({ port: redisPort, host: "127.0.0.1" });
}

export function leasehold(by: typeof fetch): (backend: Backend) => Locker {
  return ({ url, token }) => {
    const leases = new LeaseClient(upstash({ url, token, fetch: by }));
    return {
      acquire: async (key) => {
        const lease = await leases.acquire(key, { ttlMs: PATIENCE_MS, waitMs: PATIENCE_MS });
        return () => lease.release();
      },
      close: () => {},
    };
  };
}

export function twoFetches(by: typeof fetch): (backend: Backend) => Locker {
  return ({ url, token }) => {
    const init = { method: "POST", headers: { authorization: `Bearer ${token}` } };
    const send = async (...command: string[]): Promise<unknown> => {
      const response = await by(url, { ...init, body: JSON.stringify(command) });
      return response.json();
    };
    return {
      acquire: async (key) => {
        await send("SET", key, "me", "NX", "PX", String(PATIENCE_MS));
        return () => send("DEL", key);
      },
      close: () => {},
    };
  };
}
