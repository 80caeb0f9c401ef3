import type { LeaseError } from "./errors.js";
import type { Lease } from "./lease.js";

/** What a {@link Lease} dispatches. */
export interface LeaseEventMap {
  /** The term was set anew. */
  renewed: LeaseNotice;
  /** The number of those who wait for the key is another: see {@link Lease.wanted}. */
  wanted: LeaseNotice;
  /** Renewals have failed for two thirds of the term; the lease is still held. */
  jeopardy: LeaseNotice;
  /** Renewals work again. */
  safe: LeaseNotice;
  /** One renewal attempt failed; the lease is still held and renewing goes on. */
  renewfailed: LeaseNotice & { readonly error: LeaseError };
  /** The lease can no longer be trusted. Once, and final. */
  lost: LeaseNotice & { readonly error: LeaseError };
}

/** Something that happened to a lease. */
export class LeaseNotice extends Event {
  /** How long the lease can be trusted from here, in milliseconds. */
  readonly remainingMs: number;
  /** What went wrong, if something did. */
  readonly error: LeaseError | undefined;

  constructor(type: keyof LeaseEventMap, remainingMs: number, error?: LeaseError) {
    super(type);
    this.remainingMs = remainingMs;
    this.error = error;
  }
}

/** What a client's `onEvent` is told. Times are in milliseconds. No credential is in it. */
export type LeaseEvent =
  /** Waiting, with so many in front. */
  | { readonly type: "queued"; readonly key: string; readonly ahead: number }
  /** The lease is held. */
  | {
      readonly type: "granted";
      readonly key: string;
      readonly lease: Lease;
      readonly remainingMs: number;
    }
  /** There will be no lease: a {@link LeaseError}, or the reason of the caller's abort. */
  | { readonly type: "failed"; readonly key: string; readonly error: unknown }
  | {
      readonly type: "renewed" | "jeopardy" | "safe";
      readonly key: string;
      readonly lease: Lease;
      readonly remainingMs: number;
    }
  | {
      readonly type: "renewfailed";
      readonly key: string;
      readonly lease: Lease;
      readonly remainingMs: number;
      readonly error: LeaseError;
    }
  | {
      readonly type: "lost";
      readonly key: string;
      readonly lease: Lease;
      readonly error: LeaseError;
    }
  /** So many wait for the key now. */
  | {
      readonly type: "wanted";
      readonly key: string;
      readonly lease: Lease;
      readonly waiters: number;
    }
  /** The host has it back, or its result. */
  | { readonly type: "released" | "finished"; readonly key: string; readonly lease: Lease }
  /** The host did not confirm the release: it had the lease no more, or did not answer. */
  | {
      readonly type: "releasefailed";
      readonly key: string;
      readonly lease: Lease;
      readonly error: LeaseError;
    };
