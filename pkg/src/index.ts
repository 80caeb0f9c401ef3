/// <reference lib="esnext.disposable" preserve="true" />

export { LeaseSet } from "./coordination/lease-set.js";
export type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  Operation,
  Outcome,
  WireRequest,
  WireResponse,
} from "./lease/backend.js";
export {
  type AcquireOptions,
  LeaseClient,
  type LeaseClientOptions,
  type LeaseInfo,
} from "./lease/client.js";
export { type Clock, systemClock } from "./lease/clock.js";
export {
  BackendError,
  LeaseError,
  type LeaseErrorCode,
  type LeaseErrorDetails,
} from "./lease/errors.js";
export { type LeaseEvent, type LeaseEventMap, LeaseNotice } from "./lease/events.js";
export type { LeaseHandle } from "./lease/handle.js";
export { Lease } from "./lease/lease.js";
export type { Released } from "./lease/released.js";
export type { LeaseState, ReleaseResult } from "./lease/state.js";
