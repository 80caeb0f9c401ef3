import { HOLDER, KEY, TTL_MS } from "./arguments.js";
import {
  argument,
  type Check,
  fields,
  form,
  oneOf,
  record,
  required,
  type Table,
} from "./check.js";

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

const HANDLE: Check = {
  ...record,
  must: "a handle, as Lease.detach() and Lease.transfer() return it",
  hint: (value) => (typeof value === "string" ? "read it with JSON.parse first" : undefined),
};

const FIELDS: Table<LeaseHandle> = {
  v: required(oneOf(1)),
  key: required(KEY),
  holder: required(HOLDER),
  id: required({
    ...form("the lease's id, 32 hexadecimal digits", /^[0-9a-f]{32}$/),
    hint: (value) =>
      value === undefined ? "a lease as JSON has none; use what detach() returned" : undefined,
  }),
  fence: required(form("text of decimal digits", /^\d{1,20}$/)),
  ttlMs: required(TTL_MS),
};

/**
 * The handle in data of unknown origin.
 *
 * @throws LeaseError `INVALID`.
 */
export function parseHandle(value: unknown): LeaseHandle {
  return fields(FIELDS, argument("handle", HANDLE, value) as object, "handle");
}
