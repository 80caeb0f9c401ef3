export {
  type AcquireOptions,
  LeaseClient,
  type LeaseClientOptions,
  type LeaseInfo,
} from "./client.js";
export { type Clock, systemClock } from "./clock.js";
export { HostError, LeaseError, type LeaseErrorCode, type LeaseErrorDetails } from "./errors.js";
export { type LeaseEvent, type LeaseEventMap, LeaseNotice } from "./events.js";
export type { LeaseHandle } from "./handle.js";
export { Lease } from "./lease.js";
export type { LeaseState, ReleaseResult } from "./session.js";
export type {
  CallOptions,
  Capabilities,
  LeaseHost,
  Operation,
  Outcome,
  WireRequest,
  WireResponse,
} from "./wire.js";
