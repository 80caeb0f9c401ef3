import { type Lease, LeaseClient, LeaseError } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { redis } from "leasehold/redis";
import { ScriptedBackend, TestClock } from "leasehold/testing";
import { upstash, upstashFromEnv } from "leasehold/upstash";

export const used = [
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

export const isOurs = (error: unknown) => error instanceof LeaseError && error.code === "HELD";
