import { invalid, LeaseError } from "../../lease/errors.js";

/** Whoever writes: a lease, or what arrived from one, such as a key and a header with the fence. */
export interface Fenced {
  /** The lease's key. */
  readonly key: string;
  /** The lease's fence. */
  readonly fence: bigint;
  /** Which of several holders of the key; 0 if left out. Each has fences of its own. */
  readonly slot?: number;
}

/** Keeps the highest fence that a store has seen, and refuses a lower one. */
export interface FenceGuard {
  /**
   * Notes the fence, unless a higher one was here: call it when a lease was granted, before
   * anything is read or written, and then in the same transaction as each write.
   *
   * @throws LeaseError `LOST`, reason `fenced-out`, if a newer holder was here: nothing may be
   * written. What the store itself throws, in which case nothing is known.
   */
  advance(lease: Fenced): Promise<void>;
}

/** A {@link FenceGuard} of a store that answers at once. */
export interface SyncFenceGuard {
  /** Notes the fence, as {@link FenceGuard.advance} does, before it returns. */
  advance(lease: Fenced): void;
}

/** A guard's record of a lease: which it is, and the fence in a form that sorts as text. */
export interface FenceRecord {
  readonly key: string;
  readonly slot: number;
  readonly fence: string;
}

/** Twenty digits hold every fence: they all are below 2^64. */
const DIGITS = 20;

/** The record for a lease. */
export function record({ key, fence, slot = 0 }: Fenced): FenceRecord {
  if (typeof key !== "string" || key === "") {
    throw invalid("key", "must be the key of the lease");
  }
  if (typeof fence !== "bigint" || fence < 0n || fence >= 2n ** 64n) {
    throw invalid("fence", "must be the lease's fence, a bigint: BigInt(text) makes one of text");
  }
  if (!Number.isSafeInteger(slot) || slot < 0) {
    throw invalid("slot", "must be the lease's slot, a whole number from 0");
  }
  return { key, slot, fence: String(fence).padStart(DIGITS, "0") };
}

/** The refusal of a lease that a newer holder has fenced out. */
export function fencedOut({ key, fence }: Fenced, cause?: unknown): LeaseError {
  const text = `A newer holder of the lease on ${JSON.stringify(key)} was here: its fence is higher.`;
  return new LeaseError("LOST", text, { key, fence, reason: "fenced-out", cause });
}
