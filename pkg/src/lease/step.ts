import type { WireRequest } from "./backend.js";
import type { Failure } from "./errors.js";
import type { LeaseState } from "./state.js";

/** What the core wants done after one input. */
export interface Step {
  /** Where the lease stands now. */
  readonly state: StepState;
  readonly sends: readonly Send[];
  /** Attempts whose answers are no longer awaited. */
  readonly drops: readonly number[];
  readonly events: readonly StepEvent[];
  /** When to come back with `wake`; without it there is nothing to come back for. */
  readonly wakeInMs?: number;
}

/** One attempt to be made. */
export interface Send {
  readonly attempt: number;
  readonly request: WireRequest;
  readonly timeoutMs: number;
  readonly rebind: boolean;
}

/** Where a lease stands, from the first attempt on. */
export type StepState = LeaseState | "acquiring" | "failed";

/** `ABORTED` is the caller's own doing and reaches nobody as a code. */
type StepFailure = Omit<Failure, "code"> & { readonly code: Failure["code"] | "ABORTED" };

/** What an operation has done that was asked for. */
export interface Done {
  /** A release: whether the host has the lease back; why not. */
  readonly released?: boolean;
  readonly reason?: string;
  /** A transfer: what the successor carries on with. */
  readonly holder?: string;
  readonly lease?: string;
  readonly fence?: string;
  readonly ttlMs?: number;
}

/** Without a code, the operation went well. */
export type Outcome = Failure | ({ readonly code?: undefined } & Done);

/** Something that happened to the lease. */
export type StepEvent =
  | { readonly type: "closed" }
  | ({ readonly type: "failed" } & StepFailure)
  | {
      readonly type: "granted";
      readonly lease: string;
      readonly fence: string;
      readonly remainingMs: number;
    }
  | { readonly type: "jeopardy" | "renewed" | "safe"; readonly remainingMs: number }
  | { readonly type: "lost"; readonly reason: string }
  | { readonly type: "queued"; readonly ahead: number }
  | { readonly type: "released" }
  | { readonly type: "releasefailed"; readonly reason: string }
  | ({ readonly type: "renewfailed"; readonly remainingMs: number } & Failure)
  | ({ readonly type: "settled"; readonly ticket: number } & Outcome)
  | { readonly type: "transferred" };
