import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { type Firing, onSchedule } from "leasehold/schedule";
import { bench, follow, leaseError, within } from "../support/bench.ts";

const HOUR = 3_600_000;
const SIX = Date.parse("2026-11-30T06:00:00.000Z");

/** This machine's wall clock, which what is under test reads. */
function wallClock(t: TestContext, now: number): (now: number) => void {
  t.mock.timers.enable({ apis: ["Date"], now });
  return (next) => t.mock.timers.setTime(next);
}

const hourly = (at: number) => ({ at, everyMs: HOUR });
const skipped = (slot: number, why: string): Firing<never> => ({
  slot: new Date(slot),
  ran: false,
  skipped: why as "done",
});

describe("onSchedule", () => {
  test("instances whose clocks differ by less than half of the time between run it once", async (t) => {
    const setWall = wallClock(t, SIX);
    const { clock, client, rival } = bench();
    const ran: string[] = [];
    const fire = (leases: typeof client, clockIs: number) => {
      setWall(clockIs);
      return within(
        clock,
        200,
        onSchedule(leases, "report", hourly(clockIs), (lease, slot) => {
          ran.push(lease.key);
          return slot.getTime();
        }),
      );
    };
    // The first one's clock is 14 minutes ahead, the last one's 15 minutes behind.
    assert.deepEqual(await fire(client, SIX + 14 * 60_000), {
      slot: new Date(SIX),
      ran: true,
      result: SIX,
    });
    assert.deepEqual(await fire(rival(), SIX), skipped(SIX, "done"));
    assert.deepEqual(await fire(rival(), SIX - 15 * 60_000), skipped(SIX, "done"));
    assert.deepEqual(ran, ["report@2026-11-30T06:00:00.000Z"]);

    // Half an hour later by the host's clock the mark is still there, an hour later the next slot is.
    await clock.advance(HOUR / 2);
    assert.deepEqual(await fire(rival(), SIX + 29 * 60_000), skipped(SIX, "done"));
    assert.equal((await fire(rival(), SIX + HOUR)).ran, true);
    assert.equal(ran.length, 2);
  });

  test("slots are multiples of the time between, from an offset on", async (t) => {
    wallClock(t, Date.parse("2026-12-01T12:00:00Z"));
    const { clock, client } = bench();
    const slotOf = async (at: string, everyMs: number, offsetMs?: number) => {
      const options = { at: Date.parse(at), everyMs, ...(offsetMs !== undefined && { offsetMs }) };
      const firing = onSchedule(client, `slots-${everyMs}-${offsetMs}`, options, () => {});
      return (await within(clock, 200, firing)).slot.toISOString();
    };
    assert.equal(await slotOf("2026-12-01T11:59:59.9Z", 60_000), "2026-12-01T12:00:00.000Z");
    assert.equal(await slotOf("2026-12-01T12:00:00.1Z", 60_000), "2026-12-01T12:00:00.000Z");
    // Daily at noon: without the offset these two would fall into different days.
    const noon = 12 * HOUR;
    for (const at of ["2026-12-01T11:59:59.9Z", "2026-12-01T12:00:00.1Z"]) {
      assert.equal(await slotOf(at, 24 * HOUR, noon), "2026-12-01T12:00:00.000Z");
    }
    // Weekly on Mondays at nine; 1970 began on a Thursday.
    const monday = 4 * 24 * HOUR + 9 * HOUR;
    assert.equal(
      await slotOf("2026-11-30T09:03:00Z", 7 * 24 * HOUR, monday),
      "2026-11-30T09:00:00.000Z",
    );
  });

  test("who comes while it runs is told so, and who waits takes over from one that fails", async (t) => {
    wallClock(t, SIX);
    const { clock, client, rival } = bench();
    const { promise, reject } = Promise.withResolvers<void>();
    const first = onSchedule(client, "report", hourly(SIX), () => promise);
    follow(first);
    await clock.advance(100);
    const none = onSchedule(rival(), "report", { ...hourly(SIX), waitMs: 0 }, assert.fail);
    assert.deepEqual(await within(clock, 100, none), skipped(SIX, "running"));
    const impatient = onSchedule(rival(), "report", { ...hourly(SIX), waitMs: 500 }, assert.fail);
    assert.deepEqual(await within(clock, 1_000, impatient), skipped(SIX, "running"));
    const next = onSchedule(rival(), "report", hourly(SIX), () => "second");
    follow(next);
    await clock.advance(100);
    const bug = new Error("a bug");
    reject(bug);
    await assert.rejects(within(clock, 100, first), (error) => error === bug);
    assert.deepEqual(await within(clock, 500, next), {
      slot: new Date(SIX),
      ran: true,
      result: "second",
    });
  });

  test("the refusal of another lease inside is a failure of the run, not a skipped one", async (t) => {
    wallClock(t, SIX);
    const { clock, client, rival } = bench();
    await within(clock, 20, rival().acquire("printer"));
    const fired = onSchedule(client, "report", hourly(SIX), () =>
      client.acquire("printer", { waitMs: 0 }),
    );
    await assert.rejects(within(clock, 200, fired), leaseError("HELD", { key: "printer" }));
  });

  test("the mark lasts for the longer of the time between and a minute past the planned time", async (t) => {
    const setWall = wallClock(t, SIX);
    const { clock, client, rival } = bench();
    for (const [everyMs, keptMs] of [
      [5_000, 60_000],
      [HOUR, HOUR],
    ] as const) {
      setWall(SIX);
      const name = `every-${everyMs}`;
      const key = `${name}@2026-11-30T06:00:00.000Z`;
      // Fired early, by a clock that is ahead: the planned time is still to come.
      const early = SIX - everyMs / 4;
      setWall(early);
      const firing = onSchedule(client, name, { at: early, everyMs }, () => {});
      assert.equal((await within(clock, 200, firing)).ran, true);
      await clock.advance(keptMs + everyMs / 4 - 500);
      assert.ok((await within(clock, 20, rival().inspect(key)))?.done, `${everyMs}: kept`);
      await clock.advance(1_000);
      assert.equal(await within(clock, 20, rival().inspect(key)), undefined, `${everyMs}: gone`);
    }
  });

  test("an instance that fires when the mark may be gone does not run it again", async (t) => {
    const setWall = wallClock(t, SIX);
    const { clock, client, host } = bench();
    for (const [everyMs, lateMs] of [
      [5_000, 57_500],
      [HOUR, HOUR / 2],
    ] as const) {
      const fire = () => onSchedule(client, `late-${everyMs}`, { at: SIX, everyMs }, assert.fail);
      setWall(SIX + lateMs);
      assert.deepEqual(await within(clock, 200, fire()), skipped(SIX, "late"));
      assert.equal(host.requests.length, 0);
    }
  });

  test("nor does one whose request is under way when the mark may be gone", async (t) => {
    const setWall = wallClock(t, SIX);
    const { clock, client, host, rival } = bench();
    for (const [everyMs, lateMs] of [
      [10_000, 55_000],
      [HOUR, HOUR / 2],
    ] as const) {
      const name = `slow-${everyMs}`;
      setWall(SIX + lateMs - 1_000);
      host.next("acquire", { toHostMs: 7_000 });
      const fired = onSchedule(client, name, { at: SIX, everyMs }, assert.fail);
      follow(fired);
      await clock.advance(500);
      setWall(SIX + lateMs + 6_010);
      assert.deepEqual(await within(clock, 7_000, fired), skipped(SIX, "late"));
      const key = `${name}@2026-11-30T06:00:00.000Z`;
      assert.equal(await within(clock, 20, rival().inspect(key)), undefined);
    }
  });

  test("a bad argument is told before anything is sent", async (t) => {
    wallClock(t, SIX);
    const { client, host } = bench();
    const fire = (change: object, fn: unknown = () => {}) =>
      onSchedule(client, "report", { ...hourly(SIX), ...change }, fn as () => void);
    const invalid = (reason: string) => leaseError("INVALID", { reason });
    for (const at of [undefined, Number.NaN, 1e18, "06:00", new Date(SIX), SIX + HOUR]) {
      await assert.rejects(fire({ at }), invalid("at"));
    }
    for (const everyMs of [undefined, 0, 999, 1_000.5, 15 * 24 * HOUR + 1]) {
      await assert.rejects(fire({ everyMs }), invalid("everyMs"));
    }
    await assert.rejects(fire({ offsetMs: -1 }), invalid("offsetMs"));
    await assert.rejects(fire({ keepMs: 60_000 }), invalid("keepMs"));
    await assert.rejects(fire({}, "fn"), invalid("fn"));
    for (const name of ["", "n".repeat(481), "n".repeat(500), 5]) {
      await assert.rejects(
        onSchedule(client, name as string, hourly(SIX), () => {}),
        invalid("name"),
      );
    }
    await assert.rejects(
      onSchedule({} as never, "report", hourly(SIX), () => {}),
      invalid("leases"),
    );
    assert.equal(host.requests.length, 0);
  });
});
