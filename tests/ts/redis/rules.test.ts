/** What the script does as time passes, on a real server and by a clock that moves when it is told. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, describe, test } from "node:test";
import { LeaseClient, type WireRequest, type WireResponse } from "leasehold";
import { suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { ask, documentOf, freshKey, record, stored } from "./subject.ts";
import { DueClock, TimedRedis } from "./timed.ts";

const redis = suite();
const opened: TimedRedis[] = [];
after(() => {
  for (const timed of opened) timed.close();
});

const id = () => randomBytes(16).toString("hex");
const DAY = 86_400_000;

interface Waiter {
  answer: WireResponse | undefined;
  go(): void;
}

const outcome = ({ answer }: Waiter) => answer?.outcome;

/** A key, its time, and whoever asks for it. */
class Subject {
  readonly key = freshKey();
  readonly clock = new DueClock();
  readonly timed: TimedRedis;

  constructor(timed: TimedRedis, clock: DueClock) {
    this.timed = timed;
    this.clock = clock;
  }

  static async open(): Promise<Subject> {
    const clock = new DueClock();
    const timed = await TimedRedis.open(redis.server, clock);
    opened.push(timed);
    return new Subject(timed, clock);
  }

  /** Sends a request as it is. */
  send(fields: Partial<WireRequest>, signal = new AbortController().signal): Promise<WireResponse> {
    const request = { v: 1, key: this.key, op: id(), ...fields } as WireRequest;
    const options = { signal, timeoutMs: 30_000, rebind: false, clock: this.clock };
    return this.timed.backend.call(request, options);
  }

  acquire(fields: Partial<WireRequest> = {}): Promise<WireResponse> {
    return this.send(acquire(fields));
  }

  release(lease: string | undefined): Promise<WireResponse> {
    return this.send({ operation: "release", lease: lease ?? "" });
  }

  /** One that waits; its answer, once it has come. */
  async wait(fields: Partial<WireRequest> = {}): Promise<Waiter> {
    const abort = new AbortController();
    const waiter: Waiter = { answer: undefined, go: () => abort.abort() };
    this.send(acquire({ waitMs: 20_000, ...fields }), abort.signal).then(
      (answer) => {
        waiter.answer = answer;
      },
      () => {},
    );
    await this.timed.settle();
    return waiter;
  }

  async state() {
    const { state } = await this.send({ operation: "inspect" });
    return state ?? assert.fail("no state");
  }
}

const acquire = (fields: Partial<WireRequest>): Partial<WireRequest> => ({
  operation: "acquire",
  holder: "somebody",
  lease: id(),
  ttlMs: 60_000,
  ...fields,
});

describe("Redis rules: waiting", () => {
  for (const dead of [1, 8, 200]) {
    test(`${dead} that have died before one in the queue cost it the grace of one`, async () => {
      const subject = await Subject.open();
      const holder = await subject.acquire();
      for (let index = 0; index < dead; index += 1) (await subject.wait()).go();
      const alive = await subject.wait();
      await subject.release(holder.lease);
      await subject.timed.advance(2_900);
      assert.ok(!alive.answer);
      // Its own next look, 1.65 s after the one before at the latest.
      await subject.timed.advance(1_800);
      assert.equal(outcome(alive), "granted");
      assert.equal((await subject.state()).waiters, 0);
    });
  }

  test("the queue is full with 1,024, of which the dead are not counted", async () => {
    const subject = await Subject.open();
    await subject.acquire();
    for (let index = 0; index < 1_024; index += 1) (await subject.wait()).go();
    const refused = await subject.wait();
    assert.equal(refused.answer?.reason, "too-many-waiters");
    await subject.timed.advance(3_001);
    const welcome = await subject.wait();
    assert.ok(!welcome.answer);
    assert.equal((await subject.state()).waiters, 1);
  });

  test("what ends a wait is a whole term at once, since who waits asks for it itself", async () => {
    const subject = await Subject.open();
    const holder = await subject.acquire();
    const waiter = await subject.wait();
    await subject.release(holder.lease);
    await subject.timed.settle();
    assert.ok((waiter.answer?.ttlMs ?? 0) > 59_000);
  });

  test("an offer of which nobody may have heard starts anew once, when its op comes again", async () => {
    const subject = await Subject.open();
    for (let grant = 0; grant < 65; grant += 1) {
      await subject.release((await subject.acquire()).lease);
    }
    const op = id();
    await subject.acquire({ op });
    const left = async () => {
      await subject.timed.settle();
      return (await subject.state()).holders[0]?.remainingMs;
    };
    assert.equal(await left(), 3_000);
    await subject.timed.advance(2_000);
    const again = await subject.acquire({ op });
    assert.ok(again.replayed);
    assert.equal(await left(), 3_000);
    await subject.timed.advance(2_000);
    await subject.acquire({ op });
    assert.equal(await left(), 1_000);
  });

  test("of two calls with one op the older is told that it waits, and only the newer asks on", async () => {
    const subject = await Subject.open();
    const holder = await subject.acquire();
    const op = id();
    const older = await subject.wait({ op });
    await subject.timed.advance(100);
    const newer = await subject.wait({ op });
    assert.equal(outcome(older), "queued");
    assert.equal((await subject.state()).waiters, 1);
    const before = subject.timed.sent;
    await subject.timed.advance(2_900);
    assert.equal(subject.timed.sent - before, 2);
    await subject.release(holder.lease);
    await subject.timed.settle();
    assert.equal(outcome(newer), "granted");
  });

  test("who becomes the first learns when its turn may come", async () => {
    const subject = await Subject.open();
    await subject.acquire({ ttlMs: 1_000 });
    const op = id();
    await subject.wait({ op });
    const second = await subject.wait();
    await subject.timed.advance(700);
    await subject.send({ operation: "cancel", op });
    await subject.timed.advance(299);
    assert.ok(!second.answer);
    await subject.timed.advance(1);
    assert.equal(outcome(second), "granted");
  });

  test("a hint goes from one reader to the next until all have been let in", async () => {
    const subject = await Subject.open();
    const writer = await subject.acquire();
    const readers = [];
    for (let index = 0; index < 5; index += 1) readers.push(await subject.wait({ limit: 1_024 }));
    await subject.release(writer.lease);
    await subject.timed.settle();
    const slots = readers.map(({ answer }) => answer?.slot);
    assert.deepEqual(slots, [0, 1, 2, 3, 4]);
  });
});

describe("Redis rules: the client's clock", () => {
  test("drives renewals, polls and patience", async () => {
    const { key, clock, timed } = await Subject.open();
    const leases = () => new LeaseClient(timed.backend, { clock });
    const lease = await leases().acquire(key, { ttlMs: 10_000 });
    const patient = leases().acquire(key, { ttlMs: 10_000, waitMs: 600_000 });
    const late = leases().acquire(key, { waitMs: 90_000 });
    const refused = assert.rejects(late, leaseError("TIMEOUT"));
    await timed.advance(89_999);
    assert.ok(lease.held);
    await timed.advance(1_000);
    await refused;
    const released = lease.release();
    await timed.settle();
    assert.deepEqual(await released, { released: true });
    const next = await patient;
    assert.ok(next.fence > lease.fence);
    await timed.advance(60_000);
    assert.ok(next.held);
    await next.release();
  });
});

describe("Redis rules: memory", () => {
  test("an op has its outcome for 15 s after its grant's end, then it is a new one", async () => {
    const subject = await Subject.open();
    const request = acquire({ op: id(), ttlMs: 1_000 });
    const first = await subject.send(request);
    await subject.timed.advance(1_000);
    // The end is noticed, and stored with the next grant.
    const other = await subject.acquire();
    await subject.release(other.lease);
    await subject.timed.advance(14_999);
    assert.notDeepEqual(await subject.send(request), { ...first });
    assert.equal((await subject.state()).holders.length, 0);
    await subject.timed.advance(1);
    const anew = await subject.send(request);
    assert.equal(anew.outcome, "granted");
    assert.ok(BigInt(anew.fence ?? 0) > BigInt(first.fence ?? 0));
    assert.equal((await subject.state()).holders.length, 1);
  });

  test("a key that had to forget younger ops grants offers only, for 15 s", async () => {
    const subject = await Subject.open();
    for (let grant = 0; grant < 65; grant += 1) {
      const { lease, ttlMs = 0 } = await subject.acquire();
      assert.ok(ttlMs > 59_000, `grant ${grant} is a whole one`);
      await subject.release(lease);
    }
    assert.equal((await documentOf(redis.direct, subject.key))?.remembered, 64);
    const offer = await subject.acquire();
    assert.ok((offer.ttlMs ?? 0) <= 3_000);
    const renewal = { operation: "renew", lease: offer.lease ?? "", ttlMs: 60_000 } as const;
    assert.ok(((await subject.send(renewal)).ttlMs ?? 0) > 59_000);
    await subject.release(offer.lease);
    await subject.timed.advance(15_001);
    assert.ok(((await subject.acquire()).ttlMs ?? 0) > 59_000);
  });

  test("ops whose grants ended while nobody read the time are forgotten all the same", async () => {
    const subject = await Subject.open();
    const leases: (string | undefined)[] = [];
    for (let holder = 0; holder < 100; holder += 1) {
      leases.push((await subject.acquire({ limit: 1_024 })).lease);
    }
    for (const lease of leases) await subject.release(lease);
    assert.ok(((await subject.acquire()).ttlMs ?? 0) <= 3_000);
    await subject.timed.advance(60_000);
    await subject.acquire();
    await subject.timed.advance(60_001);
    assert.ok(((await subject.acquire()).ttlMs ?? 0) > 59_000);
  });
});

describe("Redis rules: the server's clock", () => {
  test("set back, it stands still until it has caught up; fences rise", async () => {
    const subject = await Subject.open();
    const first = await subject.acquire({ ttlMs: 10_000 });
    subject.timed.skewMs = -3_600_000;
    await subject.timed.advance(5_000);
    assert.equal((await subject.state()).holders[0]?.remainingMs, 10_000);
    await subject.release(first.lease);
    const second = await subject.acquire({ ttlMs: 10_000 });
    assert.equal(BigInt(second.fence ?? 0), BigInt(first.fence ?? 0) + 1n);
  });

  test("set forward, it ends terms early, and nothing else", async () => {
    const subject = await Subject.open();
    const first = await subject.acquire({ ttlMs: 10_000 });
    subject.timed.skewMs = 3_600_000;
    const second = await subject.acquire();
    assert.equal(second.outcome, "granted");
    assert.ok(BigInt(second.fence ?? 0) > BigInt(first.fence ?? 0));
    const late = await subject.send({ operation: "renew", lease: first.lease ?? "", ttlMs: 1_000 });
    assert.deepEqual([late.outcome, late.reason], ["not-holder", "expired"]);
  });

  test("a fence is the time in microseconds, also where nothing is left of the key", async () => {
    const subject = await Subject.open();
    const first = await subject.acquire();
    assert.equal(first.fence, "1700000000000000");
    await redis.direct.send("DEL", record(subject.key));
    await subject.timed.advance(1_000);
    assert.equal((await subject.acquire()).fence, "1700000001000000");
  });
});

describe("Redis rules: entries", () => {
  const set = (lease: string | undefined, number = 1) =>
    ({ operation: "entry", lease: lease ?? "", name: "n", value: '{"a": [1]}', number }) as const;

  const ends: Record<string, (subject: Subject, lease: string, op: string) => Promise<unknown>> = {
    release: (subject, lease) => subject.release(lease),
    cancel: (subject, _, op) => subject.send({ operation: "cancel", op }),
    revoke: (subject) => subject.send({ operation: "revoke" }),
    "the end of its term": async (subject) => {
      await subject.timed.advance(60_000);
      await subject.acquire();
    },
    "being stolen": (subject) => subject.acquire({ steal: true }),
    finish: (subject, lease) =>
      subject.send({ operation: "finish", lease, result: "1", keepMs: 60_000 }),
  };
  for (const [name, end] of Object.entries(ends)) {
    test(`end with their grant in the same step: ${name}`, async () => {
      const subject = await Subject.open();
      const op = id();
      const { lease = "" } = await subject.acquire({ op });
      assert.deepEqual(await stored(redis.direct), [record(subject.key)]);
      await subject.send(set(lease));
      assert.deepEqual((await subject.state()).holders[0]?.entries, { n: { a: [1] } });
      await end(subject, lease, op);
      assert.deepEqual(await stored(redis.direct), [record(subject.key)]);
      for (const { entries } of (await subject.state()).holders) assert.deepEqual(entries, {});
    });
  }

  test("of other grants of the key stay", async () => {
    const subject = await Subject.open();
    const [first, second] = [
      await subject.acquire({ limit: 2 }),
      await subject.acquire({ limit: 2 }),
    ];
    await subject.send(set(first.lease));
    await subject.send(set(second.lease));
    await subject.release(first.lease);
    const { holders } = await subject.state();
    assert.deepEqual(
      holders.map(({ slot, entries }) => [slot, entries]),
      [[1, { n: { a: [1] } }]],
    );
  });

  test("of a grant that has gone with its document are not its successor's", async () => {
    const subject = await Subject.open();
    await subject.send(set((await subject.acquire()).lease));
    await redis.direct.send("DEL", record(subject.key));
    const { lease } = await subject.acquire();
    assert.deepEqual((await subject.state()).holders[0]?.entries, {});
    await subject.send({ ...set(lease), name: "own" });
    assert.deepEqual((await subject.state()).holders[0]?.entries, { own: { a: [1] } });
  });

  test("of a grant that has ended leave their room to others in the same step", async () => {
    const subject = await Subject.open();
    const value = JSON.stringify("x".repeat(4_000));
    const first = await subject.acquire({ limit: 2 });
    for (let number = 1; number <= 16; number += 1) {
      const entry = { ...set(first.lease, number), name: `n${number}`, value };
      assert.equal((await subject.send(entry)).outcome, "entered");
    }
    const second = await subject.acquire({ limit: 2, ttlMs: DAY });
    const large = { ...set(second.lease), value };
    assert.equal((await subject.send(large)).reason, "key-too-large");
    await subject.timed.advance(60_000);
    assert.equal((await subject.send(large)).outcome, "entered");
  });

  test("are kept for a grant that is renewed for months", async () => {
    const subject = await Subject.open();
    const { lease = "" } = await subject.acquire({ ttlMs: DAY });
    await subject.send(set(lease));
    const name = record(subject.key, "entries");
    const kept = async () => Number(await ask(redis.direct, "PTTL", name));
    for (let day = 0; day < 70; day += 1) {
      await subject.timed.advance(DAY - 1_000);
      // As if it had passed at the server as well.
      await redis.direct.send("PEXPIRE", name, String((await kept()) - DAY + 1_000));
      await subject.send({ operation: "renew", lease, ttlMs: DAY });
      // As long as its term, but for what has passed in truth.
      assert.ok((await kept()) > DAY - 2_000, `day ${day}`);
    }
    assert.deepEqual((await subject.state()).holders[0]?.entries, { n: { a: [1] } });
  });

  test("a value of somebody else's in their place is refused and left alone", async () => {
    const subject = await Subject.open();
    const { lease = "" } = await subject.acquire();
    await subject.send(set(lease));
    const name = record(subject.key, "entries");
    await redis.direct.send("SET", name, "a user's text");
    for (const request of [set(lease, 2), { operation: "inspect" } as const]) {
      const { outcome, reason } = await subject.send(request);
      assert.deepEqual([outcome, reason], ["refused", "foreign-value"]);
    }
    assert.equal((await subject.release(lease)).outcome, "released");
    assert.equal(await ask(redis.direct, "GET", name), "a user's text");
  });
});

describe("Redis rules: watching", () => {
  test("a change is told at once, an end when it comes, the state when patience ends", async () => {
    const subject = await Subject.open();
    const { lease } = await subject.acquire({ ttlMs: 7_000 });
    const watch = async (waitMs: number) => {
      const { revision } = await subject.state();
      const begun = subject.clock.now;
      const seen: { afterMs?: number; holders?: number } = {};
      subject.send({ operation: "watch", after: revision, waitMs }).then(({ state }) => {
        seen.afterMs = subject.clock.now - begun;
        seen.holders = state?.holders.length ?? 0;
      });
      await subject.timed.settle();
      return seen;
    };
    const unchanged = await watch(2_000);
    await subject.timed.advance(2_000);
    assert.deepEqual(unchanged, { afterMs: 2_000, holders: 1 });

    const changed = await watch(20_000);
    await subject.timed.advance(2_000);
    // A plain renewal is no change.
    await subject.send({ operation: "renew", lease: lease ?? "", ttlMs: 5_000 });
    await subject.timed.advance(50);
    await subject.release(lease);
    await subject.timed.settle();
    assert.deepEqual(changed, { afterMs: 2_050, holders: 0 });

    await subject.acquire({ ttlMs: 3_000 });
    const ended = await watch(20_000);
    await subject.timed.advance(3_100);
    assert.equal(ended.holders, 0);
    assert.ok((ended.afterMs ?? 0) >= 3_000);
  });

  test("nothing is stored for asking about a key that nobody holds", async () => {
    const subject = await Subject.open();
    for (const operation of ["inspect", "watch", "verify", "renew", "release"] as const) {
      await subject.send({ operation, lease: id(), ttlMs: 1_000, waitMs: 0 });
    }
    assert.deepEqual(await stored(redis.direct), []);
  });
});

describe("Redis rules: listing", () => {
  test("every key with something to show comes once, of those with the prefix", async () => {
    const subject = await Subject.open();
    const names = Array.from({ length: 230 }, (_, index) => `a*[${index}]`);
    for (const key of [...names, "b", "a1"]) await subject.send({ ...acquire({}), key });
    // Of these there is nothing to show.
    const { lease = "" } = await subject.send({ ...acquire({}), key: "a*gone" });
    await subject.send({ operation: "release", key: "a*gone", lease });
    await redis.direct.send("SET", "leasehold:{k:a*foreign}:lease", "a user's text");
    for (let other = 0; other < 2_000; other += 1) await redis.direct.send("SET", `x${other}`, "");
    const found: string[] = [];
    let after: string | undefined;
    do {
      const page = { operation: "list", prefix: "a*", ...(after === undefined ? {} : { after }) };
      const answer = await subject.send({ ...page, key: undefined } as never);
      assert.equal(answer.outcome, "listed");
      found.push(...(answer.states ?? []).map(({ key }) => key));
      after = answer.after;
    } while (after !== undefined);
    assert.deepEqual(found.toSorted(), names.toSorted());
  });
});
