/** What the methods of a client and a lease can be told, and the table that each is checked by. */

import {
  between,
  type Check,
  callback,
  flag,
  form,
  hasMethod,
  having,
  millis,
  nested,
  oneOf,
  required,
  signal,
  type Table,
  text,
  whole,
} from "./check.js";
import type { Clock } from "./clock.js";
import { invalid } from "./errors.js";
import type { LeaseEvent } from "./events.js";
import { type Json, jsonOf } from "./json.js";
import { ambientWaitUntil } from "./wait-until.js";
import type { CallLimits } from "./waiting.js";

const DAY_MS = 86_400_000;

/** As many holders of a key as any host allows. */
export const MOST_HOLDERS = 1_024;

// The core checks these again and has the last word: a test holds the two to the same bounds.
export const KEY = text(512);
export const HOLDER = text(256);
export const TTL_MS = millis(100, DAY_MS);
/** As long as a client can wait. */
export const LONGEST_WAIT_MS = DAY_MS;
const WAIT_MS = millis(0, LONGEST_WAIT_MS);
const LIMIT = whole("holders", 1, MOST_HOLDERS);
const KEEP_MS = millis(60_000, 30 * DAY_MS);
const FENCE: Check = {
  must: "a bigint from 1 to 2^64 - 1",
  is: (value) => typeof value === "bigint" && value > 0n && value < 2n ** 64n,
};

/** What JSON can say, in so many bytes at most: turned into its text. */
const json = (mostBytes: number): Check => ({
  must: `JSON of at most ${mostBytes} bytes`,
  is: () => true,
  take: (value, name) => jsonOf(name, value, mostBytes),
});
export const VALUE = json(4_096);
export const RESULT = json(8_192);
export const ENTRY_NAME = text(128);

/** A {@link Clock}. */
export const CLOCK = having(
  "a clock with monotonic, wall, setTimeout and clearTimeout",
  "monotonic",
  "wall",
  "setTimeout",
  "clearTimeout",
);

/** How a client goes about it. */
export interface LeaseClientOptions {
  /** The name to hold leases under. Random by default, one per client. Not a secret. */
  readonly holder?: string;
  /**
   * Keeps the invocation alive until a promise settles, such as `ctx.waitUntil` of a Worker. It
   * is given what has to outlive the handler: releases, and the taking back of grants. On Workers
   * it is that of `cloudflare:workers` by default.
   */
  readonly waitUntil?: (promise: Promise<unknown>) => void;
  /** The time and timers; the runtime's own by default. */
  readonly clock?: Clock;
  /** Length of a term in milliseconds unless `acquire` says otherwise: 100 to 86 400 000; 30 000 by default. */
  readonly ttlMs?: number;
  /** How long to wait for a grant, in milliseconds, unless `acquire` says otherwise; 10 000 by default. */
  readonly waitMs?: number;
  /** Is told of everything that happens to the client's leases. What it throws goes to the console. */
  readonly onEvent?: (event: LeaseEvent) => void;
  /**
   * Whether a held lease keeps a Node, Deno or Bun process alive that has nothing else to do.
   * False by default: the lease then ends with its term.
   */
  readonly keepProcessAlive?: boolean;
}

const WAIT_UNTIL: Check = {
  must: "a function that needs no object to be called on",
  is: (value) => callback.is(value) && (ambientWaitUntil !== undefined || !isBare(value)),
  hint: (value) =>
    hasMethod(value, "waitUntil") || callback.is(value)
      ? "pass (promise) => ctx.waitUntil(promise)"
      : undefined,
};

/** Whether it is the runtime's own method without its object: nothing else would tell, but at use. */
function isBare(method: unknown): boolean {
  const { name } = method as { name: string };
  const isNative = /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(method));
  return isNative && name === "waitUntil";
}

export const CLIENT: Table<LeaseClientOptions> = {
  holder: HOLDER,
  waitUntil: WAIT_UNTIL,
  clock: CLOCK,
  ttlMs: TTL_MS,
  waitMs: WAIT_MS,
  onEvent: callback,
  keepProcessAlive: flag,
};

/** How a lease is to be had. */
export interface AcquireOptions {
  /** Length of a term in milliseconds: 100 to 86 400 000. */
  readonly ttlMs?: number;
  /** How long to wait for the grant, in milliseconds: 0 to 86 400 000. 0 asks exactly once. */
  readonly waitMs?: number;
  /** Cancels the waiting, and only that. A lease once granted is not affected. */
  readonly signal?: AbortSignal;
  /**
   * The longest that the call may take, in milliseconds, whatever the host does. As long as
   * `waitMs` by default, but a second at least; 5 000 where that is 0.
   */
  readonly timeoutMs?: number;
  /** The name to hold it under, instead of the client's. */
  readonly holder?: string;
  /**
   * The most holders of the key at once, this one included: 1 by default, up to 1 024. It is
   * granted as soon as there are fewer holders than it, and each of them, puts up with. Whoever
   * forgets it wants the key for itself, and has all behind it wait.
   */
  readonly limit?: number;
  /**
   * `shared` is the highest limit there is: any number of readers beside no writer. `exclusive` by
   * default. Give this or `limit`.
   */
  readonly mode?: "exclusive" | "shared";
  /**
   * Ends every grant of the key, as `revoke` does, and gets it in the same step, before whoever
   * waits.
   */
  readonly steal?: boolean;
  /**
   * Shares the lease that this client has on the key, if it was acquired so, too, under the same
   * holder's name and limit: a lease of one grant for each, and the last to be released gives it
   * back. Never asks the host then; `ttlMs`, `maxHoldMs` and `renew`, where they are given, must be those
   * of the lease that is shared. Whoever uses the same client counts as the same: give unrelated
   * work a client, or a `holder`, of its own.
   */
  readonly reentrant?: boolean;
  /**
   * The longest that the lease may be held, in milliseconds: 100 to 2 592 000 000. No renewal
   * reaches beyond it; it is lost then, for the reason `max-hold`.
   */
  readonly maxHoldMs?: number;
  /** `auto` renews while the lease is held; `manual` only when told. `auto` by default. */
  readonly renew?: "auto" | "manual";
  /**
   * When to renew, as parts of the term: from `t1` on (a third by default), and from `t2` on over
   * a rebuilt way to the host.
   */
  readonly renewal?: { readonly t1?: number; readonly t2?: number };
}

/** Every call's. */
export const LIMITS: Table<CallLimits> = {
  signal,
  timeoutMs: millis(1, DAY_MS),
};

/** How a lease of one's own is to be had, that nobody shares. */
export type Alone = Omit<AcquireOptions, "limit" | "mode" | "reentrant" | "renew">;

export const ALONE: Table<Alone> = {
  ...LIMITS,
  ttlMs: TTL_MS,
  waitMs: WAIT_MS,
  holder: HOLDER,
  steal: flag,
  maxHoldMs: millis(100, 30 * DAY_MS),
  renewal: nested<NonNullable<AcquireOptions["renewal"]>>({ t1: between(0, 1), t2: between(0, 1) }),
};

export const ACQUIRE: Table<AcquireOptions> = {
  ...ALONE,
  limit: LIMIT,
  mode: oneOf("exclusive", "shared"),
  reentrant: flag,
  renew: oneOf("auto", "manual"),
};

export const CLOSE: Table<Pick<CallLimits, "timeoutMs">> = { timeoutMs: LIMITS.timeoutMs };

/** How a lease is to be renewed or handed over. */
export interface TermOptions extends CallLimits {
  /** Length of the term, in milliseconds: 100 to 86 400 000. */
  readonly ttlMs?: number;
}

export const TERM: Table<TermOptions> = { ...LIMITS, ttlMs: TTL_MS };

/** How work is to be done once. */
export interface RunOnceOptions extends Alone {
  /** How long the result is kept, in milliseconds: 60 000 to 2 592 000 000, which is 30 days. */
  readonly keepMs: number;
  /**
   * What tells the input of this work from another's, such as a hash: 1 to 128 bytes. Whoever comes
   * with another one is refused, with `INVALID`, reason `fingerprint`.
   */
  readonly fingerprint?: string;
}

export const RUN_ONCE: Table<RunOnceOptions> = {
  ...ALONE,
  keepMs: required(KEEP_MS),
  fingerprint: text(128),
};

/** How a lease ends with a result. */
export interface FinishOptions extends CallLimits {
  /** The result, as JSON: 8 192 bytes at most. `null` by default. */
  readonly result?: Json;
  /** How long it is kept, in milliseconds: 60 000 to 2 592 000 000, which is 30 days. */
  readonly keepMs: number;
}

export const FINISH: Table<FinishOptions> = {
  ...LIMITS,
  result: RESULT,
  keepMs: required(KEEP_MS),
};

/** What is to be revoked. */
export interface RevokeOptions extends CallLimits {
  /** Only the grant with this fence. */
  readonly fence?: bigint;
}

export const REVOKE: Table<RevokeOptions> = { ...LIMITS, fence: FENCE };

/** How a key is to be watched. */
export interface WatchOptions {
  /** The revision of the state that is known: the first that is told is another. */
  readonly after?: string;
  /** Ends the watching, with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * After how many milliseconds without any answer from the host it ends with `UNAVAILABLE`: 60 000
   * by default.
   */
  readonly timeoutMs?: number;
}

export const WATCH: Table<WatchOptions> = {
  ...LIMITS,
  after: form("the revision of a state that was told", /^\d{1,20}$/),
};

/** What is to be listed. */
export interface ListOptions extends CallLimits {
  /** What the keys begin with. All, by default. */
  readonly prefix?: string;
}

export const LIST: Table<ListOptions> = {
  ...LIMITS,
  prefix: {
    ...KEY,
    must: "text of at most 512 bytes",
    is: (value) => value === "" || KEY.is(value),
  },
};

/** What leases by their owners' names are derived with. */
export interface NamedOptions {
  /**
   * The secret that all processes share which act for the same owners: 16 bytes at least, as text
   * or bytes.
   */
  readonly secret: string | Uint8Array;
}

export const NAMED: Table<NamedOptions> = {
  secret: required({
    must: "a secret of 16 bytes at least, as text or a Uint8Array",
    is: (value) =>
      value instanceof Uint8Array
        ? value.length >= 16
        : typeof value === "string" && new TextEncoder().encode(value).length >= 16,
  }),
};

/** Which grant of an owner's is meant. */
export interface NamedGrantOptions extends CallLimits {
  /** The fence that `acquire` returned; the owner's present grant, if it is left out. */
  readonly fence?: bigint;
}

export const NAMED_GRANT: Table<NamedGrantOptions> = { ...LIMITS, fence: FENCE };

/** Which grant of an owner's is meant, and for how long it is to be. */
export interface NamedTermOptions extends NamedGrantOptions {
  /** Length of the term, in milliseconds: 100 to 86 400 000. */
  readonly ttlMs?: number;
}

export const NAMED_TERM: Table<NamedTermOptions> = { ...NAMED_GRANT, ttlMs: TTL_MS };

/** The limit that the options come to. */
export function limitOf({ limit, mode }: Pick<AcquireOptions, "limit" | "mode">): number {
  if (limit !== undefined && mode !== undefined) {
    throw invalid("mode", "can't be given together with limit, which says the same");
  }
  return mode === "shared" ? MOST_HOLDERS : (limit ?? 1);
}
