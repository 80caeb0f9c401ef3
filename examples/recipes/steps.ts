import { type Lease, type LeaseClient, LeaseError, type LeaseHandle } from "leasehold";

/** Longer than the pause between two steps. */
const TTL_MS = 60_000;

/** What a step leaves for the next one: for the workflow to keep, as a secret. */
export interface StepResult<T> {
  readonly value: T;
  readonly handle: LeaseHandle;
}

/** One step of a workflow that has the same lease from its first step to its last. */
export async function step<T>(
  leases: LeaseClient,
  key: string,
  before: LeaseHandle | undefined,
  work: (lease: Lease) => Promise<T>,
): Promise<StepResult<T>> {
  const lease = await carryOn(leases, key, before);
  try {
    const value = await work(lease);
    return { value, handle: lease.detach() };
  } catch (error) {
    await lease.release();
    throw error;
  }
}

/** The lease of the step before; a new one if there is none, or if a try that failed has taken it. */
async function carryOn(
  leases: LeaseClient,
  key: string,
  before: LeaseHandle | undefined,
): Promise<Lease> {
  try {
    if (before !== undefined) return await leases.resume(before);
  } catch (error) {
    if (!LeaseError.is(error) || error.code !== "LOST") throw error;
  }
  return await leases.acquire(key, { ttlMs: TTL_MS, waitMs: 2 * TTL_MS });
}
