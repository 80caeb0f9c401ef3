import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import type { LeaseClient } from "leasehold";
import { cached } from "leasehold/cache";
import { election } from "leasehold/election";
import { onSchedule } from "leasehold/schedule";
import { synchronized, toResponse } from "leasehold/synchronized";
import { type Instance, instances, register } from "../../../examples/services/registry.ts";
import { fails, TTL } from "./tools.ts";

/** What is built on leases, on every host. */
export function pieces(client: () => LeaseClient, freshKey: () => string): void {
  test("election: one leads at a time, the next in line follows, observers are told", async () => {
    const name = freshKey();
    const stop = new AbortController();
    const candidates = ["ada", "bob", "cyd"].map((value) => {
      const own = election<string>(client(), name, { ttlMs: TTL });
      return { own, value, won: own.campaign(value) };
    });
    const told: (string | undefined)[] = [];
    const observing = (async () => {
      for await (const leader of election<string>(client(), name).observe({
        signal: stop.signal,
      })) {
        if (leader?.value !== told.at(-1)) told.push(leader?.value);
      }
    })().catch((error) => assert.equal(error, stop.signal.reason));

    const led: string[] = [];
    const fences: bigint[] = [];
    let leading = 0;
    const terms = candidates.map(async ({ own, value, won }) => {
      const lease = await won;
      leading += 1;
      assert.equal(leading, 1);
      led.push(value);
      fences.push(lease.fence);
      while (told.at(-1) !== value) await soon();
      assert.deepEqual(await own.leader(), { holder: lease.holder, fence: lease.fence, value });
      leading -= 1;
      assert.deepEqual(await own.resign(), { released: true });
    });
    await Promise.all(terms);
    while (told.at(-1) !== undefined) await soon();
    assert.deepEqual(
      told.filter((value) => value !== undefined),
      led,
    );
    assert.deepEqual([...fences].sort(), fences);
    stop.abort(new Error("seen"));
    await observing;
  });

  test("schedule: each planned time has one run, however many instances fire", async () => {
    const name = freshKey();
    const everyMs = 86_400_000;
    const first = Date.now();
    const offsetMs = first % everyMs;
    for (const at of [first, first - everyMs / 4, first + everyMs / 4]) {
      const fire = () =>
        onSchedule(client(), name, { at, everyMs, offsetMs, ttlMs: TTL }, () => "ran");
      const firings = await Promise.all([fire(), fire(), fire()]);
      const ran = firings.filter((firing) => firing.ran);
      assert.equal(ran.length, at === first ? 1 : 0, JSON.stringify(firings));
      for (const firing of firings) {
        assert.equal(firing.slot.getTime(), first);
        if (!firing.ran) assert.equal(firing.skipped, "done");
      }
    }
  });

  test("synchronized: one at a time for each input, and who comes second is refused", async () => {
    const name = `${freshKey()}:{}`;
    const { promise: kept, resolve: finish } = Promise.withResolvers<void>();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const ship = () =>
      synchronized(client(), name, async (order: string, lease) => {
        if (order === "42") begin();
        if (order === "42") await kept;
        lease.check();
        return `shipped ${order}`;
      });
    const first = ship()("42");
    await begun;
    const second: unknown = await ship()("42").catch((error) => error);
    fails("HELD")(second);
    assert.equal(toResponse(second).status, 409);
    assert.equal(await ship()("43"), "shipped 43");
    finish();
    assert.equal(await first, "shipped 42");
  });

  test("services: who registers is listed with its address, and gone at once when it stops", async () => {
    const service = freshKey();
    const all = ["ann", "ben"].map((name) => ({ name, url: `http://${name}.internal` }));
    const stops = all.map(() => new AbortController());
    const running = all.map((instance, index) =>
      register(client(), service, instance, { signal: stops[index]?.signal as AbortSignal }),
    );
    const until = async (expected: readonly Instance[]) => {
      for await (const listed of instances(client(), service)) {
        const byName = [...listed].sort((a, b) => (a.name < b.name ? -1 : 1));
        if (isDeepStrictEqual(byName, expected)) return;
      }
    };
    await until(all);
    stops[0]?.abort();
    await until(all.slice(1));
    stops[1]?.abort();
    await Promise.all(running);
  });

  test("cache: many readers and writers, and no read is stale after a write returned", async () => {
    const key = freshKey();
    let stored = 0;
    let returned = 0;
    let loads = 0;
    let reads = 0;
    const load = async () => {
      loads += 1;
      const value = stored;
      await soon();
      return value;
    };
    const until = Date.now() + 3_000;
    const all = [1, 2, 3].map(() => cached(client(), key, load, { ttlMs: TTL }));
    const reading = all.map(async (reader) => {
      while (Date.now() < until) {
        const least = returned;
        const value = await reader.get();
        assert.ok(value >= least, `${value} after ${least} was written`);
        reads += 1;
        await new Promise((wake) => setTimeout(wake, 2));
      }
    });
    const writing = all.slice(0, 2).map(async (writer) => {
      while (Date.now() < until) {
        const version = await writer.write({ waitMs: 20_000 }, async () => {
          await soon();
          stored += 1;
          return stored;
        });
        returned = Math.max(returned, version);
        await new Promise((wake) => setTimeout(wake, 300));
      }
    });
    await Promise.all([...reading, ...writing]);
    assert.ok(returned > 1);
    assert.ok(loads < reads / 2, `${loads} loads for ${reads} reads`);
    await Promise.all(all.map((value) => value.close()));
    while ((await client().inspect(key)) !== undefined) await soon();
  });
}

function soon(): Promise<void> {
  return new Promise((wake) => setTimeout(wake, 10));
}
