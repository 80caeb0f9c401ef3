/** A request as it travels. The client makes it; a host takes it as it is. */
export interface WireRequest {
  /** Protocol version. */
  readonly v: 1;
  /** What is asked. */
  readonly operation: Operation;
  /** The key operated on. */
  readonly key: string;
  /** The intention, the same in every attempt. Secret. */
  readonly op: string;
  /** Acquire: who would hold it. */
  readonly holder?: string;
  /** Acquire: the proposed lease id. Elsewhere: the credential. Secret. */
  readonly lease?: string;
  /** Release, renew, transfer, verify: the fence of the grant that is meant, in decimal. */
  readonly fence?: string;
  /** Transfer: who holds it next. */
  readonly toHolder?: string;
  /** Transfer: the successor's lease id. Secret. */
  readonly toLease?: string;
  /** Acquire, renew, transfer: the grant's length in milliseconds. */
  readonly ttlMs?: number;
  /** Acquire: how much longer to wait, in milliseconds. */
  readonly waitMs?: number;
  /** Acquire: answer a lease that this holder has already with that lease. */
  readonly reentrant?: boolean;
}

/** What a host can be asked. */
export type Operation =
  | "acquire"
  | "cancel"
  | "inspect"
  | "release"
  | "renew"
  | "revoke"
  | "transfer"
  | "verify";

/** What a host can answer. */
export type Outcome =
  | "cancelled"
  | "granted"
  | "held"
  | "inspected"
  | "not-holder"
  | "queued"
  | "refused"
  | "released"
  | "renewed"
  | "revoked";

/** A response as it travels. Which fields there are depends on the outcome. */
export interface WireResponse {
  /** Protocol version. */
  readonly v: 1;
  /** What happened. */
  readonly outcome: Outcome;
  /** Refused: the kind. */
  readonly code?: "DENIED" | "INVALID" | "UNAVAILABLE";
  /** Refused, not-holder: a stable word for the cause. */
  readonly reason?: string;
  /** Refused: a sentence for people, without secrets. */
  readonly message?: string;
  /** Granted: the lease's id. Secret. */
  readonly lease?: string;
  /**
   * Granted, inspected: the grant's fence, in decimal. Not-holder, released, renewed: the one that
   * the request named.
   */
  readonly fence?: string;
  /** Held, inspected: who holds the key. */
  readonly holder?: string;
  /** Granted, renewed, inspected: what is left of the grant, in milliseconds. */
  readonly ttlMs?: number;
  /** Granted: how long the request lay waiting at the host, in milliseconds. */
  readonly waitedMs?: number;
  /** Held, queued, refused: when asking again may first help, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Queued: waiters in front. Inspected: waiters in all. */
  readonly waiters?: number;
  /** Granted: an earlier attempt of the same op was granted already. */
  readonly replayed?: boolean;
  /** Revoked: whether there was a grant to end. */
  readonly revoked?: boolean;
}

/** What a host can promise. */
export interface Capabilities {
  /**
   * One holder at a time: within one process, within the clock bound, or as far as replication
   * keeps up.
   */
  readonly exclusive: "one-process" | "clock-bound" | "best-effort";
  /** Fences that only rise: within one process, for ever, or as far as replication keeps up. */
  readonly fencing: "one-process" | "durable" | "best-effort";
  /** Whether a waiter is told when its turn has come, or has to ask. */
  readonly waiting: "push" | "poll";
  /** What a lease survives, in words. */
  readonly survives: string;
}

/** How one attempt is to be made. */
export interface CallOptions {
  /** Aborts when the answer is no longer awaited. */
  readonly signal: AbortSignal;
  /** How long the answer is awaited, in milliseconds. An acquire may use it to wait for its turn. */
  readonly timeoutMs: number;
  /** Whether to rebuild the way to the host first: earlier attempts came to nothing. */
  readonly rebind: boolean;
  /**
   * To be called when an answer has proved that nothing of what was sent so far was carried out, and
   * just before it is sent again: a grant then counts from there. To be left alone if in doubt.
   */
  readonly resending?: () => void;
}

/** Carries requests to whatever decides who holds a key. Bring your own, or take one of ours. */
export interface LeaseBackend {
  /** What the host can promise. */
  readonly capabilities: Capabilities;
  /**
   * Makes one attempt to get an answer. Does not retry: the client does, under the same op.
   *
   * Rejects with a {@link BackendError} when there is no answer; with `delivery: "never"` only if the
   * request certainly did not reach the host.
   */
  call(request: WireRequest, options: CallOptions): Promise<WireResponse>;
}
