import type { Clock } from "./clock.js";

/** What a host can be asked. */
export const OPERATIONS = [
  "acquire",
  "cancel",
  "entry",
  "finish",
  "inspect",
  "list",
  "release",
  "renew",
  "revoke",
  "transfer",
  "verify",
  "watch",
] as const;

/** One of {@link OPERATIONS}. */
export type Operation = (typeof OPERATIONS)[number];

/** A request as it travels. The client makes it; a host takes it as it is. */
export interface WireRequest {
  /** Protocol version. */
  readonly v: 1;
  /** What is asked. Which other fields there are depends on it. */
  readonly operation: Operation;
  /** The key operated on; empty for a list. */
  readonly key: string;
  /** The intention, the same in every attempt. Secret. */
  readonly op: string;
  /** Acquire: who would hold it. */
  readonly holder?: string;
  /** Acquire: the proposed lease id. Elsewhere: the credential. Secret. */
  readonly lease?: string;
  /**
   * With a credential: the fence of the grant that is meant, in decimal. Revoke: the only grant to
   * end.
   */
  readonly fence?: string;
  /** Transfer: who holds it next. */
  readonly toHolder?: string;
  /** Transfer: the successor's lease id. Secret. */
  readonly toLease?: string;
  /** Acquire, renew, transfer: the grant's length in milliseconds. */
  readonly ttlMs?: number;
  /** Acquire, watch: how much longer to wait, in milliseconds. */
  readonly waitMs?: number;
  /** Acquire: the most holders of the key, itself included. */
  readonly limit?: number;
  /** Acquire: a running grant that has the proposed id is extended. */
  readonly repeat?: "extend";
  /** Acquire: all running grants are ended in its favour. */
  readonly steal?: boolean;
  /** Acquire: what tells its input from another's. */
  readonly fingerprint?: string;
  /** Entry: its name. */
  readonly name?: string;
  /** Entry: its value, JSON as text; without it, the entry is deleted. */
  readonly value?: string;
  /** Entry: rises with every change to the lease's entries. */
  readonly number?: number;
  /** Finish: JSON as text. */
  readonly result?: string;
  /** Finish: how long the result is kept, in milliseconds. */
  readonly keepMs?: number;
  /** List: what the keys begin with. */
  readonly prefix?: string;
  /** List: where the last answer ended. Watch: the known revision. */
  readonly after?: string;
}

/** What a host can answer. */
export type Outcome =
  | "cancelled"
  | "done"
  | "entered"
  | "finished"
  | "granted"
  | "held"
  | "listed"
  | "not-holder"
  | "queued"
  | "refused"
  | "released"
  | "renewed"
  | "revoked"
  | "state";

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
  /** Refused as the wrong object: the layout by which the right one is found. */
  readonly layout?: string;
  /** Granted: the lease's id. Secret. */
  readonly lease?: string;
  /**
   * Granted, done: the grant's fence, in decimal. Held: the present one in the lowest slot. Entered,
   * finished, not-holder, released, renewed: the one that the request named.
   */
  readonly fence?: string;
  /** Not-holder: the highest fence that the key has now. */
  readonly present?: string;
  /** Held: who holds the key in the lowest slot. */
  readonly holder?: string;
  /** Granted: the place among the key's holders, from zero. */
  readonly slot?: number;
  /** Granted, renewed: what is left of the grant, in milliseconds. */
  readonly ttlMs?: number;
  /** Granted: how long the request lay waiting at the host, in milliseconds. */
  readonly waitedMs?: number;
  /** Held, queued, refused: when asking again may first help, in milliseconds. */
  readonly retryAfterMs?: number;
  /** Queued: waiters in front. Held: waiters in all. */
  readonly waiters?: number;
  /** Granted, renewed: how many wait for the key. */
  readonly wanted?: number;
  /** Granted: an earlier attempt of the same op was granted already. */
  readonly replayed?: boolean;
  /** Revoked: how many grants ended, the mark that the key is done counted as one. */
  readonly revoked?: number;
  /** Done: how long ago, in milliseconds. */
  readonly ageMs?: number;
  /** Done: how much longer the result is kept, in milliseconds. */
  readonly remainingMs?: number;
  /** Done: the result, JSON as text. */
  readonly result?: string;
  /** State: the key's. */
  readonly state?: WireKeyState;
  /** Listed: some keys' states. */
  readonly states?: readonly WireKeyState[];
  /** Listed: where the next list is to go on; absent at the end. */
  readonly after?: string;
}

/** A key as an observer sees it, as it travels. */
export interface WireKeyState {
  /** The key. */
  readonly key: string;
  /** Differs after every change but a renewal. Opaque. */
  readonly revision: string;
  /** Who holds it, by slot. */
  readonly holders: readonly WireHolderState[];
  /** How many wait for it. */
  readonly waiters: number;
  /** That a work was finished and its result is kept. */
  readonly done?: WireDoneState;
}

/** A live grant, as it travels. */
export interface WireHolderState {
  /** Who holds the key. */
  readonly holder: string;
  /** The grant's fence, in decimal. */
  readonly fence: string;
  /** Its place among the key's holders, from zero. */
  readonly slot: number;
  /** The most holders that this one puts up with. */
  readonly limit: number;
  /** Time since the grant, in milliseconds. */
  readonly ageMs: number;
  /** Time until the host frees the key unless it is renewed, in milliseconds. */
  readonly remainingMs: number;
  /** What the holder has set, by name. */
  readonly entries: Readonly<Record<string, unknown>>;
}

/** A finished work, as it travels. */
export interface WireDoneState {
  /** The fence under which it was done, in decimal. */
  readonly fence: string;
  /** Time since then, in milliseconds. */
  readonly ageMs: number;
  /** How much longer its result is kept, in milliseconds. */
  readonly remainingMs: number;
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
  /** Whether keys can be listed. Not, unless it says so. */
  readonly list?: boolean;
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
  /** The caller's time and timers; the runtime's own by default. */
  readonly clock?: Clock;
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
