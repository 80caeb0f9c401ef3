/**
 * Scheduled work that runs once per planned time, on however many instances the timer fires.
 *
 * @module
 */
import { RUN_ONCE, type RunOnceOptions } from "../lease/arguments.js";
import {
  argument,
  type Check,
  callback,
  having,
  millis,
  optionsOf,
  required,
  type Table,
  text,
} from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { invalid, LeaseError } from "../lease/errors.js";
import type { Lease } from "../lease/lease.js";

/** What is used of a client. */
export type OnceRunner = Pick<LeaseClient, "runOnce">;

/** For when a run is planned, and how its lease is to be had. */
export interface ScheduleOptions extends Omit<RunOnceOptions, "keepMs" | "fingerprint"> {
  /**
   * The time that this run is planned for, in milliseconds since 1970: `controller.scheduledTime`
   * of a cron trigger, or `Date.now()` where a timer has just fired.
   */
  readonly at: number;
  /** From one planned time to the next, in milliseconds: 1 000 to 1 296 000 000, which is 15 days. */
  readonly everyMs: number;
  /**
   * How long after a multiple of `everyMs` since 1970 (UTC) the planned times are, in milliseconds: of
   * a daily run at noon, 43 200 000. 0 by default.
   */
  readonly offsetMs?: number;
}

/** What became of one firing of a timer. */
export type Firing<T> =
  /** It ran here. */
  | { readonly slot: Date; readonly ran: true; readonly result: T }
  /**
   * It did not run here: it is `done`, here or elsewhere; `running` elsewhere still; or this instance
   * comes so `late` that nobody knows any more whether it was done.
   */
  | { readonly slot: Date; readonly ran: false; readonly skipped: "done" | "running" | "late" };

/** The shortest that a host keeps a result. */
const LEAST_KEPT_MS = 60_000;

const TIME: Check = {
  must: "a time in milliseconds since 1970, such as controller.scheduledTime",
  is: (value) => Number.isFinite(value) && Math.abs(Number(value)) <= 8.64e15,
  hint: (value) => (value instanceof Date ? "pass its getTime()" : undefined),
};
const { keepMs: _, fingerprint: __, ...ONCE } = RUN_ONCE;
const DAY_MS = 86_400_000;
const SCHEDULE: Table<ScheduleOptions> = {
  ...ONCE,
  at: required(TIME),
  everyMs: required(millis(1_000, 15 * DAY_MS)),
  offsetMs: millis(0, 15 * DAY_MS),
};
/** With the slot it is a key. */
const NAME = text(480);
const RUNNER = having("a LeaseClient", "runOnce");

/**
 * Runs `fn` unless another instance does for the same planned time, or has: to be called wherever
 * the timer fires. The planned time, its slot, is `at` rounded to `everyMs`, so that instances agree
 * on it whose clocks differ by less than half of that.
 *
 * @param name - Of the schedule, 1 to 480 bytes: with the slot, the key of the lease, `name@2026-11-30T06:00:00.000Z`.
 * @returns Whether it ran here; if not, why.
 * @throws What `fn` threw, in which case the next instance that asks, or waits, runs it; LeaseError
 * `INVALID` for a bad argument, and for a time that is further ahead than half of `everyMs`; what
 * `LeaseClient.runOnce` throws, but for `HELD` and `TIMEOUT`.
 */
export async function onSchedule<T>(
  leases: OnceRunner,
  name: string,
  options: ScheduleOptions,
  fn: (lease: Lease, slot: Date) => T | Promise<T>,
): Promise<Firing<T>> {
  argument("leases", RUNNER, leases);
  argument("name", NAME, name);
  argument("fn", callback, fn);
  const { at, everyMs, offsetMs = 0, ...acquire } = optionsOf(SCHEDULE, options);
  const slotMs = Math.round((at - offsetMs) / everyMs) * everyMs + offsetMs;
  const slot = new Date(slotMs);
  const now = Date.now();
  if (at > now + everyMs / 2) {
    throw invalid("at", "must not be further ahead of this machine's clock than half of everyMs");
  }
  const keptMs = Math.max(everyMs, LEAST_KEPT_MS);
  const late: Firing<T> = { slot, ran: false, skipped: "late" };
  const isLate = () => Date.now() >= slotMs + keptMs - everyMs / 2;
  if (isLate()) return late;
  const keepMs = keptMs + Math.max(slotMs - now, 0);
  const tooLate = new Error("The mark may have ended while the lease was asked for.");
  let begun = false;
  let firing: Firing<T> = { slot, ran: false, skipped: "done" };
  try {
    await leases.runOnce(`${name}@${slot.toISOString()}`, { ...acquire, keepMs }, async (lease) => {
      if (isLate()) throw tooLate;
      begun = true;
      firing = { slot, ran: true, result: await fn(lease, slot) };
    });
    return firing;
  } catch (error) {
    if (error === tooLate) return late;
    if (begun || !isBusy(error)) throw error;
    return { slot, ran: false, skipped: "running" };
  }
}

function isBusy(error: unknown): boolean {
  return LeaseError.is(error) && (error.code === "HELD" || error.code === "TIMEOUT");
}
