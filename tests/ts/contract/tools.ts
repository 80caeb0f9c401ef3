import assert from "node:assert/strict";
import { type LeaseBackend, type LeaseClient, LeaseError, type LeaseErrorDetails } from "leasehold";

/** What each part of the contract is tried with. */
export interface Bench {
  /** A client that shares nothing with the others. */
  client(holder?: string, host?: LeaseBackend): LeaseClient;
  carrier(): LeaseBackend;
  freshKey(): string;
}

/** A term that does not end while a test runs. */
export const TTL = 5_000;

/** A wait that a busy machine keeps to. */
export const WAIT = 30_000;

/** Asserts that an error is a {@link LeaseError} with this code, and these properties. */
export function fails(code: string, properties: LeaseErrorDetails = {}) {
  return (error: unknown): true => {
    assert.ok(error instanceof LeaseError, `a LeaseError, not ${String(error)}`);
    assert.equal(error.code, code, String(error));
    assert.deepEqual({ ...error, ...properties }, { ...error });
    return true;
  };
}

/** Waits until so many wait for a key. */
export async function untilWaiters(leases: LeaseClient, key: string, count: number): Promise<void> {
  const deadline = Date.now() + WAIT;
  while ((await leases.inspect(key))?.waiters !== count) {
    assert.ok(Date.now() < deadline, `not ${count} waiters of ${key} in ${WAIT} ms`);
    await new Promise((wake) => setTimeout(wake, 5));
  }
}

export const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
