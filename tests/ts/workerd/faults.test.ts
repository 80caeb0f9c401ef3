import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Workers } from "./harness.ts";
import { acquire, type Host, look, release, renew, rise, WAITERS } from "./host.ts";

let workers: Workers;
/** The object of the key. */
const object = (key: string) => workers.namespace<Host>("LEASES").getByName(`key/${key}`);
/** The object of all keys. */
const shard = () => workers.namespace<Host>("SHARD").getByName("shard/1/0");

before(async () => {
  workers = await Workers.startTestHost();
});
after(() => workers.stop());

/** Ends the object's life in some way. */
const ends: [string, (name: string) => Promise<void>][] = [
  [
    "aborted",
    (name) =>
      object(name)
        .abort()
        .catch(() => {}),
  ],
  ["evicted after ten idle seconds", () => sleep(12_000)],
  ["ended with the whole runtime", () => workers.restart()],
];

for (const [how, end] of ends) {
  test(`an object ${how} carries on with the same lease and fence`, async () => {
    const name = `end ${how}`;
    const ttlMs = 60_000;
    const asked = acquire(name, { ttlMs });
    const { lease, fence } = await object(name).call(asked);
    const before = await object(name).life();
    await end(name);

    assert.equal((await object(name).call(acquire(name, { holder: "bob" }))).outcome, "held");
    if (how !== "ended with the whole runtime") {
      assert.notEqual(await object(name).life(), before, "the object really is another");
    }
    assert.equal((await object(name).call(renew(name, { lease, ttlMs }))).outcome, "renewed");
    const info = await look(object(name), name);
    assert.deepEqual([info.holder, info.fence], ["alice", fence]);
    const replay = await object(name).call(asked);
    assert.deepEqual([replay.lease, replay.fence, replay.replayed], [lease, fence, true]);

    assert.equal((await object(name).call(release(name, { lease }))).outcome, "released");
    assert.ok(rise(fence, (await object(name).call(acquire(name))).fence));
  });
}

test("an answer lost with the object after it was applied is found again under the same op", async () => {
  const name = "lost answer";
  const asked = acquire(name);
  const { fence } = await object(name).call(asked);
  await object(name)
    .abort()
    .catch(() => {});
  const again = await object(name).call(asked);
  assert.deepEqual([again.outcome, again.fence, again.replayed], ["granted", fence, true]);
  const released = release(name, { lease: again.lease });
  assert.equal((await object(name).call(released)).outcome, "released");
  await object(name)
    .abort()
    .catch(() => {});
  assert.equal((await object(name).call(released)).outcome, "released", "not: not-holder");
});

describe("storage", () => {
  test("what fails to be stored has not happened, and the next request is right", async () => {
    const host = shard();
    const { lease } = await host.call(acquire("k"));
    await host.sql(
      "CREATE TRIGGER full BEFORE INSERT ON records WHEN NEW.place LIKE 'key/%' BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    await assert.rejects(host.call(release("k", { lease })), /disk full/);
    await assert.rejects(host.call(acquire("other")), /disk full/);
    await host.sql("DROP TRIGGER full");
    assert.equal((await host.call(renew("k", { lease }))).outcome, "renewed");
    assert.equal((await host.call(acquire("other"))).outcome, "granted");
    assert.equal((await host.call(release("k", { lease }))).outcome, "released");
  });

  test("a step that fails half-way is undone as a whole", async () => {
    const host = object("half-way");
    const { lease } = await host.call(acquire("half-way"));
    const waiting = host.call(acquire("half-way", { holder: "bob", waitMs: 20_000 }));
    waiting.catch(() => {});
    await until(async () => (await host.sql(WAITERS)).length === 1);
    // The release first takes the waiter out, then grants it the key.
    await host.sql(
      "CREATE TRIGGER full BEFORE INSERT ON records WHEN NEW.place LIKE 'key/%' BEGIN SELECT RAISE(ABORT, 'disk full'); END",
    );
    await assert.rejects(host.call(release("half-way", { lease })), /disk full/);
    await assert.rejects(waiting, /disk full/, "told to ask again");
    assert.equal((await host.sql(WAITERS)).length, 1, "its place is kept");
    await host.sql("DROP TRIGGER full");
    assert.equal((await look(host, "half-way")).holder, "alice");
  });

  test("fences are exact beyond 2^53", async () => {
    const host = object("large fences");
    const { lease } = await host.call(acquire("large fences"));
    await host.call(release("large fences", { lease }));
    await host.sql(
      "UPDATE records SET value = CAST(x'0020000000000001' || substr(value, 9) AS BLOB)",
    );
    await host.abort().catch(() => {});
    const above = await host.call(acquire("large fences"));
    assert.equal(above.fence, "9007199254740994");
    await host.abort().catch(() => {});
    assert.equal((await look(host, "large fences")).fence, "9007199254740994");
    await host.call(release("large fences", { lease: above.lease }));
    await host.sql(
      "UPDATE records SET value = CAST(x'ffffffffffffffff' || substr(value, 9) AS BLOB)",
    );
    await host.abort().catch(() => {});
    const last = await host.call(acquire("large fences"));
    assert.deepEqual([last.outcome, last.reason], ["refused", "fences-exhausted"]);
  });

  test("a key takes one row whose size has a bound, however often it is leased", async () => {
    const host = object("many cycles");
    const size = async () => {
      const [row] = await host.sql(
        "SELECT count(*) AS rows, max(length(value)) AS bytes FROM records",
      );
      return { rows: row?.rows, bytes: Number(row?.bytes) };
    };
    const cycle = async (times: number) => {
      for (let count = 0; count < times; count += 1) {
        const { lease } = await host.call(acquire("many cycles"));
        await host.call(renew("many cycles", { lease }));
        await host.call(release("many cycles", { lease }));
      }
    };
    await cycle(70);
    const before = await size();
    await cycle(60);
    const after = await size();
    assert.equal(after.rows, 1);
    assert.ok(after.bytes < 5_000, `${after.bytes} bytes`);
    assert.ok(after.bytes <= before.bytes * 1.1, `${before.bytes} to ${after.bytes} bytes`);
  });

  test("tables of another version are left alone", async () => {
    const host = object("other version");
    const { fence } = await host.call(acquire("other version"));
    await host.sql("UPDATE meta SET value = '1' WHERE place = 'schema'");
    await host.abort().catch(() => {});
    await assert.rejects(host.call(acquire("other version")), /another version/);
    await host.sql("UPDATE meta SET value = '3' WHERE place = 'schema'");
    assert.equal((await look(host, "other version")).fence, fence);
  });
});

describe("a trap", () => {
  test("is over with the next request, for this object and for all others", async () => {
    const [broken, other] = [shard(), object("beside")];
    const kept = await broken.call(acquire("trapped", { ttlMs: 60_000 }));
    const beside = await other.call(acquire("beside", { ttlMs: 60_000 }));
    const waiting = broken.call(acquire("trapped", { holder: "bob", waitMs: 20_000 }));
    waiting.catch(() => {});
    const [life, otherLife] = [await broken.life(), await other.life()];

    await broken.exhaust();
    await assert.rejects(broken.call(acquire("new")), /RuntimeError/);
    await assert.rejects(waiting, "told to ask again");

    assert.deepEqual([await broken.life(), await other.life()], [life, otherLife]);
    const { lease } = kept;
    assert.equal((await broken.call(renew("trapped", { lease }))).outcome, "renewed");
    assert.equal((await broken.call(acquire("new"))).outcome, "granted");
    const info = await look(other, "beside");
    assert.deepEqual([info.holder, info.fence], ["alice", beside.fence]);
    assert.equal((await other.call(renew("beside", { lease: beside.lease }))).outcome, "renewed");
  });

  test("in one object makes another's waiters ask again, and they keep their places", async () => {
    const [broken, other] = [object("trapped"), object("with waiters")];
    const { lease } = await other.call(acquire("with waiters", { ttlMs: 60_000 }));
    const asked = acquire("with waiters", { holder: "bob", waitMs: 20_000 });
    const waiting = other.call(asked);
    waiting.catch(() => {});
    await until(async () => (await other.sql(WAITERS)).length === 1);
    await broken.exhaust();
    await assert.rejects(broken.call(acquire("trapped")), /RuntimeError/);

    const later = other.call(acquire("with waiters", { holder: "carol", waitMs: 20_000 }));
    await assert.rejects(waiting, /ask again/);
    const back = other.call(asked);
    assert.equal((await other.call(release("with waiters", { lease }))).outcome, "released");
    const granted = await back;
    assert.equal(granted.outcome, "granted");
    await other.call(release("with waiters", { lease: granted.lease }));
    assert.ok(rise(granted.fence, (await later).fence));
  });
});

describe("the clock", () => {
  test("stepped back does not lengthen a term, nor does the next life forget it", async () => {
    const host = object("back");
    await host.skew(3_600_000);
    const { lease, fence } = await host.call(acquire("back", { ttlMs: 2_000 }));
    await host.skew(0);
    assert.equal((await host.call(renew("back", { lease, ttlMs: 2_000 }))).outcome, "renewed");
    await host.abort().catch(() => {});
    const { remainingMs } = await look(host, "back");
    assert.ok(remainingMs !== undefined && remainingMs <= 2_000, `${remainingMs} ms`);
    await host.skew(3_602_001);
    const next = await host.call(acquire("back", { holder: "bob" }));
    assert.equal(next.outcome, "granted");
    assert.ok(rise(fence, next.fence));
  });

  test("stepped forth ends terms early, and the holder learns", async () => {
    const host = object("forth");
    const { lease } = await host.call(acquire("forth"));
    await host.skew(3_600_000);
    const late = await host.call(renew("forth", { lease }));
    assert.deepEqual([late.outcome, late.reason], ["not-holder", "expired"]);
    assert.equal((await host.call(acquire("forth", { holder: "bob" }))).outcome, "granted");
  });

  test("decides by the term that the holder asked for, not by a contender's", async () => {
    const host = object("terms");
    await host.call(acquire("terms", { ttlMs: 30_000 }));
    await host.skew(29_000);
    const early = await host.call(acquire("terms", { holder: "bob", ttlMs: 10_000 }));
    assert.equal(early.outcome, "held");
    await host.skew(30_001);
    const due = await host.call(acquire("terms", { holder: "bob", ttlMs: 10_000 }));
    assert.equal(due.outcome, "granted");
  });
});

async function until(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) {
    await sleep(10);
  }
}
