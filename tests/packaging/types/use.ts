import { type Lease, LeaseClient, LeaseError } from "leasehold";
import { cached } from "leasehold/cache";
import { durableObject } from "leasehold/durable-object";
import { election } from "leasehold/election";
import { d1Fence, durableObjectFence, r2Objects, s3Objects } from "leasehold/fence";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { redis } from "leasehold/redis";
import { onSchedule } from "leasehold/schedule";
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

export async function pieces(leases: LeaseClient): Promise<(number | string | undefined)[]> {
  const leadership = await election<{ url: string }>(leases, "leader").campaign({ url: "/" });
  const leader = await election<{ url: string }>(leases, "leader").leader();
  const options = { at: Date.now(), everyMs: 60_000 };
  const firing = await onSchedule(leases, "report", options, (_, slot) => slot.getTime());
  const price: number = await cached(leases, "price", async () => 7).get();
  return [leadership.key, leader?.value.url, firing.ran ? firing.result : firing.skipped, price];
}

export const isOurs = (error: unknown) => error instanceof LeaseError && error.code === "HELD";
