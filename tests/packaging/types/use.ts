import { type Lease, LeaseClient, LeaseError } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { d1Fence, durableObjectFence, r2Objects, s3Objects } from "leasehold/fence";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { redis } from "leasehold/redis";
import { synchronized, toResponse } from "leasehold/synchronized";
import { ScriptedBackend, TestClock } from "leasehold/testing";
import { upstash, upstashFromEnv } from "leasehold/upstash";

export const used = [
  d1Fence,
  durableObjectFence,
  r2Objects,
  s3Objects,
  toResponse,
  durableObject,
  http,
  redis,
  ScriptedBackend,
  TestClock,
  upstash,
  upstashFromEnv,
];

export async function hold(): Promise<bigint> {
  const leases = new LeaseClient(memory());
  await using lease: Lease = await leases.acquire("a", { ttlMs: 1_000 });
  lease.addEventListener("lost", ({ error }) => console.log(error.code));
  // @ts-expect-error a fence is not a number
  const _wrong: number = lease.fence;
  return lease.signal.aborted ? 0n : lease.fence;
}

class Shop {
  readonly leases = new LeaseClient(memory());

  @synchronized((shop: Shop) => shop.leases, "order:{id}")
  async ship(order: { id: number }, lease?: Lease): Promise<string> {
    return `${order.id} under ${lease?.fence}`;
  }
}

export const ship = synchronized(new LeaseClient(memory()), "order:{id}", (order: { id: number }) =>
  new Shop().ship(order),
);

export const isOurs = (error: unknown) => error instanceof LeaseError && error.code === "HELD";
