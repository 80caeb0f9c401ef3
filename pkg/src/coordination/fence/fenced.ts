import { record as anObject, argument, fields, required, type Table } from "../../lease/check.js";
import { LeaseError } from "../../lease/errors.js";

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

const LEASE: Table<Fenced> = {
  key: required({
    must: "the key of the lease",
    is: (value) => typeof value === "string" && value !== "",
  }),
  fence: required({
    must: "the lease's fence, a bigint",
    is: (value) => typeof value === "bigint" && value >= 0n && value < 2n ** 64n,
    hint: (value) => (typeof value === "string" ? "BigInt(text) makes one of text" : undefined),
  }),
  slot: {
    must: "the lease's slot, a whole number from 0",
    is: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  },
};

/**
 * The record for a lease.
 *
 * @throws LeaseError `INVALID` for what is none.
 */
export function record(lease: Fenced): FenceRecord {
  const { key, fence, slot = 0 } = fields(LEASE, argument("lease", anObject, lease), "lease", "");
  return { key, slot, fence: String(fence).padStart(DIGITS, "0") };
}

/** The refusal of a lease that a newer holder has fenced out. */
export function fencedOut({ key, fence }: Fenced, cause?: unknown): LeaseError {
  const text = `A newer holder of the lease on ${JSON.stringify(key)} was here: its fence is higher.`;
  return new LeaseError("LOST", text, { key, fence, reason: "fenced-out", cause });
}
