/** What the methods of a client and a lease can be told, and the table that each is checked by. */

import {
  between,
  type Check,
  callback,
  flag,
  hasMethod,
  having,
  millis,
  nested,
  oneOf,
  signal,
  type Table,
  text,
} from "./check.js";
import type { Clock } from "./clock.js";
import type { LeaseEvent } from "./events.js";
import { ambientWaitUntil } from "./wait-until.js";
import type { CallLimits } from "./waiting.js";

const DAY_MS = 86_400_000;

// The core checks these again and has the last word: a test holds the two to the same bounds.
export const KEY = text(512);
export const HOLDER = text(256);
export const TTL_MS = millis(100, DAY_MS);
const WAIT_MS = millis(0, DAY_MS);

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
   * Whether a lease that the same holder has already is answered with that lease. Whoever shares a
   * lease so is one holder: what one of them ends has ended for all.
   */
  readonly reentrant?: boolean;
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

export const ACQUIRE: Table<AcquireOptions> = {
  ...LIMITS,
  ttlMs: TTL_MS,
  waitMs: WAIT_MS,
  holder: HOLDER,
  reentrant: flag,
  renew: oneOf("auto", "manual"),
  renewal: nested<NonNullable<AcquireOptions["renewal"]>>({ t1: between(0, 1), t2: between(0, 1) }),
};

export const CLOSE: Table<Pick<CallLimits, "timeoutMs">> = { timeoutMs: LIMITS.timeoutMs };

/** How a lease is to be renewed or handed over. */
export interface TermOptions extends CallLimits {
  /** Length of the term, in milliseconds: 100 to 86 400 000. */
  readonly ttlMs?: number;
}

export const TERM: Table<TermOptions> = { ...LIMITS, ttlMs: TTL_MS };
