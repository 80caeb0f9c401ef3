/// <reference lib="esnext.disposable" preserve="true" />

export { LeaseSet } from "./coordination/lease-set.js";
export type {
  AcquireOptions,
  FinishOptions,
  LeaseClientOptions,
  ListOptions,
  NamedGrantOptions,
  NamedOptions,
  NamedTermOptions,
  RevokeOptions,
  RunOnceOptions,
  TermOptions,
  WatchOptions,
} from "./lease/arguments.js";
export type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  Operation,
  Outcome,
  WireRequest,
  WireResponse,
} from "./lease/backend.js";
export { LeaseClient } from "./lease/client.js";
export { type Clock, systemClock } from "./lease/clock.js";
export {
  BackendError,
  type BackendErrorDetails,
  LeaseError,
  type LeaseErrorCode,
  type LeaseErrorDetails,
  type Verdict,
} from "./lease/errors.js";
export { type LeaseEvent, type LeaseEventMap, LeaseNotice } from "./lease/events.js";
export type { LeaseHandle } from "./lease/handle.js";
export type { Json } from "./lease/json.js";
export type { DoneState, HolderState, KeyState } from "./lease/key-state.js";
export { Lease, type LeaseSummary } from "./lease/lease.js";
export { type NamedAnswer, type NamedGrant, NamedLeases } from "./lease/named.js";
export type { Released } from "./lease/released.js";
export type { Kept, Result } from "./lease/run-once.js";
export type { LeaseState, ReleaseResult } from "./lease/state.js";
export type { CallLimits } from "./lease/waiting.js";
