import { invalid } from "./errors.js";

/**
 * A lease as plain data, to be carried on elsewhere with `LeaseClient.resume`.
 *
 * Whoever has it can act on the lease: `id` is its credential.
 */
export interface LeaseHandle {
  readonly v: 1;
  readonly key: string;
  readonly holder: string;
  /** The lease's id and credential: 32 hexadecimal digits. Secret. */
  readonly id: string;
  /** The fence, in decimal: a JavaScript number is not exact above 2^53. */
  readonly fence: string;
  /** Length of the grant in milliseconds. */
  readonly ttlMs: number;
}

/** The handle in data of unknown origin. Key, holder, id and term are left to the core. */
export function parseHandle(value: unknown): LeaseHandle {
  if (typeof value !== "object" || value === null) {
    throw invalid("handle", "must be an object that Lease.toJSON() returned");
  }
  const { v, key, holder, id, fence, ttlMs } = value as Record<keyof LeaseHandle, unknown>;
  if (v !== 1) {
    throw invalid("handle.v", "must be 1");
  }
  if (typeof fence !== "string" || !/^\d{1,20}$/.test(fence)) {
    throw invalid("handle.fence", "must be a string of decimal digits");
  }
  return {
    v,
    key: key as string,
    holder: holder as string,
    id: id as string,
    fence,
    ttlMs: ttlMs as number,
  };
}
