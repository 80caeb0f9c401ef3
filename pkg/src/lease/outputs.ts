import type { WireRequest } from "./backend.js";
import type { Failure } from "./errors.js";
import type { LeaseState } from "./state.js";

/** What the core wants done after one input. */
export interface Outputs {
  /** Where the lease stands now. */
  readonly state: OutputState;
  readonly sends: readonly Send[];
  /** Attempts whose answers are no longer awaited. */
  readonly drops: readonly number[];
  readonly events: readonly OutputEvent[];
  /** When to come back with `wake`; without it there is nothing to come back for. */
  readonly wakeInMs?: number;
}

/** What the core says of an argument that it can't use. */
export interface Complaint {
  readonly field: string;
  readonly message: string;
}

/** One attempt to be made. */
export interface Send {
  readonly attempt: number;
  readonly request: WireRequest;
  readonly timeoutMs: number;
  readonly rebind: boolean;
}

/** Where a lease stands, from the first attempt on. */
export type OutputState = LeaseState | "acquiring" | "failed";

/** Why there is no lease. */
export interface Refusal extends Omit<Failure, "code"> {
  /** `ABORTED` is the caller's own doing and reaches nobody as a code. */
  readonly code: Failure["code"] | "ABORTED";
  /** `DONE`: the fence under which the work was done, and its result as JSON. */
  readonly fence?: string;
  readonly result?: string;
}

/** What an operation has done that was asked for. */
export interface Settled {
  /** A release: whether the host has the lease back; why not. */
  readonly released?: boolean;
  readonly reason?: string;
  /** A transfer: what the successor carries on with. */
  readonly holder?: string;
  readonly lease?: string;
  readonly fence?: string;
  readonly ttlMs?: number;
}

/** How an operation has ended that was asked for. */
export type Outcome = (Settled & { readonly code?: undefined }) | Failure;

/** Something that happened to the lease. */
export type OutputEvent =
  | { readonly type: "closed" }
  | ({ readonly type: "failed" } & Refusal)
  | {
      readonly type: "granted";
      readonly lease: string;
      readonly fence: string;
      readonly slot: number;
      readonly wanted: number;
      readonly remainingMs: number;
    }
  | { readonly type: "jeopardy" | "renewed" | "safe"; readonly remainingMs: number }
  | { readonly type: "lost"; readonly reason: string }
  | { readonly type: "queued"; readonly ahead: number }
  | { readonly type: "finished" | "released" }
  | { readonly type: "transferred" }
  | { readonly type: "releasefailed"; readonly reason: string }
  | ({ readonly type: "renewfailed"; readonly remainingMs: number } & Failure)
  | ({ readonly type: "settled"; readonly ticket: number } & Outcome)
  | { readonly type: "wanted"; readonly waiters: number };
