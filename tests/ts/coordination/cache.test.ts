import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Lease, LeaseClient } from "leasehold";
import { type CacheClient, type Cached, cached } from "leasehold/cache";
import type { TestClock } from "leasehold/testing";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { bench, follow, leaseError, type Party, parties, pause, within } from "../support/bench.ts";

const KEY = "prices";
const TTL = 3_000;

/** Where the value is stored: answers after some time, with what it was at some point of that. */
class Store {
  value = 0;
  loads = 0;
  readonly #wait: (ms: number) => Promise<void>;

  constructor(wait: (ms: number) => Promise<void>) {
    this.#wait = wait;
  }

  load = async (): Promise<number> => {
    this.loads += 1;
    await this.#wait(5);
    const { value } = this;
    await this.#wait(5);
    return value;
  };
}

describe("cached, under faults", () => {
  test("no read is stale after a write has returned, whatever the network does", async () => {
    const seen = { memory: 0, loads: 0, writes: 0, stale: 0 };
    for (let seed = 1; seed <= 12; seed += 1) {
      await storm(seed, seen, (client) => client);
      assert.equal(seen.stale, 0, `seed ${seed}`);
    }
    assert.ok(seen.writes > 100, `${seen.writes} writes`);
    assert.ok(seen.memory > 2_000, `${seen.memory} reads from memory`);
    assert.ok(seen.loads > 200, `${seen.loads} loads`);
  });

  test("a reader that trusted a lease past its deadline would be found out", async () => {
    const seen = { memory: 0, loads: 0, writes: 0, stale: 0 };
    for (let seed = 1; seed <= 12 && seen.stale === 0; seed += 1) {
      await storm(seed, seen, credulous);
    }
    assert.ok(seen.stale > 0);
  });
});

describe("cached", () => {
  test("is loaded once, for all who ask, and then served from memory", async () => {
    const { clock, client, host } = bench();
    const store = new Store((ms) => pause(clock, ms));
    const prices = cached(client, KEY, store.load, { ttlMs: TTL });
    assert.deepEqual(
      await within(clock, 100, Promise.all([prices.get(), prices.get(), prices.get()])),
      [0, 0, 0],
    );
    for (let second = 0; second < 20; second += 1) {
      await clock.advance(500);
      const asked = host.requests.length;
      assert.equal(await within(clock, 0, prices.get()), 0);
      assert.equal(host.requests.length, asked);
    }
    assert.equal(store.loads, 1);
    await within(clock, 50, prices.close());
  });

  test("a write recalls it from every reader, long before their terms end", async () => {
    const { clock, all } = parties(3);
    const store = new Store((ms) => pause(clock, ms));
    const readers = all.map(({ client }) => cached(client, KEY, store.load, { ttlMs: 60_000 }));
    const [first] = readers;
    assert.ok(first);
    await within(clock, 200, Promise.all(readers.map((reader) => reader.get())));
    assert.equal(store.loads, 3);
    const written = first.write(async (lease) => {
      store.value = 7;
      return lease.fence;
    });
    assert.ok((await within(clock, 500, written)) > 0n);
    for (const reader of readers) assert.equal(await within(clock, 100, reader.get()), 7);
    assert.equal(store.loads, 6);
    await within(clock, 50, Promise.all(readers.map((reader) => reader.close())));
  });

  test("a reader that can't be asked holds up a write for its term, and serves nothing after it", async () => {
    const { clock, all } = parties(2);
    const [cutOff, writing] = all as [Party, Party];
    const store = new Store((ms) => pause(clock, ms));
    const reader = cached(cutOff.client, KEY, store.load, { ttlMs: TTL });
    const writer = cached(writing.client, KEY, store.load, { ttlMs: TTL });
    // Nor does it hear what was on its way to it.
    cutOff.host.always("watch", { answer: "never" });
    await within(clock, 100, reader.get());
    cutOff.host.always("*", { deliver: 0 });
    const begun = clock.now;
    const written = writer.write(() => {
      store.value = 1;
      return clock.now - begun;
    });
    const standing = follow(written);
    const loads = store.loads;
    await clock.advance(1_500);
    assert.equal(await within(clock, 0, reader.get()), 0, "from memory, while it lasts");
    assert.equal(store.loads, loads);
    await clock.advance(TTL);
    assert.equal(standing().status, "fulfilled");
    assert.ok((await written) > TTL / 2);
    assert.equal(await within(clock, 1_100, reader.get()), 1, "loaded, without a lease");
    assert.equal(await within(clock, 20, reader.get()), 1, "now without asking for one first");
    cutOff.host.restore();
    await within(clock, 20, reader.get());
    await clock.advance(2_000);
    const before = store.loads;
    assert.equal(await within(clock, 100, reader.get()), 1);
    await clock.advance(100);
    assert.equal(await within(clock, 0, reader.get()), 1);
    assert.ok(store.loads <= before + 2, "kept again");
    await within(clock, 60_000, reader.close());
  });

  test("reads go on while a write waits or works, from where the value is stored", async () => {
    const { clock, client, rival } = bench();
    const store = new Store((ms) => pause(clock, ms));
    const reader = cached(client, KEY, store.load, { ttlMs: TTL });
    const { promise, resolve } = Promise.withResolvers<void>();
    const written = cached(rival(), KEY, store.load, { ttlMs: TTL }).write(() => promise);
    follow(written);
    await clock.advance(100);
    assert.equal(await within(clock, 50, reader.get()), 0);
    store.value = 1;
    assert.equal(await within(clock, 50, reader.get()), 1);
    resolve();
    await within(clock, 50, written);
  });

  test("what nobody reads is let go of", async () => {
    const { clock, client, rival } = bench();
    const store = new Store((ms) => pause(clock, ms));
    const reader = cached(client, KEY, store.load, { ttlMs: TTL });
    await within(clock, 100, reader.get());
    assert.equal((await within(clock, 20, rival().inspect(KEY)))?.holders.length, 1);
    await clock.advance(TTL);
    assert.equal(await within(clock, 20, rival().inspect(KEY)), undefined);
  });

  test("what loading throws reaches whoever asked, and nothing is kept", async () => {
    const { clock, client, rival } = bench();
    const bug = new Error("no store");
    const reader = cached(client, KEY, () => Promise.reject(bug), { ttlMs: TTL });
    for (let turn = 0; turn < 2; turn += 1) {
      await assert.rejects(within(clock, 100, reader.get()), (error) => error === bug);
    }
    await clock.advance(100);
    assert.equal(await within(clock, 20, rival().inspect(KEY)), undefined);
  });

  test("a closed one lets go, and loads from then on", async () => {
    const { clock, client, rival } = bench();
    const store = new Store((ms) => pause(clock, ms));
    const reader = cached(client, KEY, store.load);
    const got = reader.get();
    follow(got);
    await within(clock, 100, reader.close());
    assert.equal(await got, 0);
    await clock.advance(50);
    assert.equal(await within(clock, 20, rival().inspect(KEY)), undefined);
    const before = store.loads;
    assert.equal(await within(clock, 20, reader.get()), 0);
    assert.equal(store.loads, before + 1);
  });

  for (const [name, between] of [
    ["a client that was closed", (clock, { client }) => within(clock, 50, client.close())],
    [
      "a key whose work is done",
      async (clock, { client }) => {
        const lease = await within(clock, 20, client.acquire(KEY));
        await within(clock, 20, lease.finish({ keepMs: 60_000 }));
      },
    ],
    ["a host that is gone", async (_, { host }) => host.always("*", { deliver: 0 })],
  ] satisfies [string, (clock: TestClock, party: Party) => Promise<unknown>][]) {
    test(`no read fails that would work without a lease: ${name}`, async () => {
      const { clock, client, host } = bench();
      const store = new Store((ms) => pause(clock, ms));
      const reader = cached(client, KEY, store.load);
      await between(clock, { client, host });
      for (const value of [1, 2]) {
        store.value = value;
        assert.equal(await within(clock, 1_100, reader.get()), value);
      }
    });
  }

  test("a write is alone with its value, whatever it asks for", async () => {
    const { clock, client, host } = bench();
    const one = cached(client, KEY, () => 1);
    const shared = { mode: "shared", limit: 5, steal: true, reentrant: true, renew: "manual" };
    for (const [reason, value] of Object.entries(shared)) {
      const written = one.write({ [reason]: value }, () => assert.fail());
      await assert.rejects(within(clock, 20, written), leaseError("INVALID", { reason }));
    }
    assert.equal(host.requests.length, 0);
  });

  test("the longest term that readers can have leaves a write to wait for as long as one can", async () => {
    const { clock, client, rival } = bench();
    await within(clock, 20, client.acquire(KEY, { ttlMs: 86_400_000 }));
    const one = cached(rival(), KEY, () => 1, { ttlMs: 86_400_000 });
    const written = follow(one.write(() => {}));
    await clock.advance(86_300_000);
    assert.equal(written().status, "pending");
    await clock.advance(200_000);
    assert.equal(written().status, "rejected");
  });

  test("a bad argument is told at once", async () => {
    const { clock, client } = bench();
    const invalid = (reason: string) => leaseError("INVALID", { reason });
    assert.throws(() => cached({} as never, KEY, () => 1), invalid("leases"));
    assert.throws(() => cached(client, "", () => 1), invalid("key"));
    assert.throws(() => cached(client, KEY, 1 as never), invalid("load"));
    assert.throws(() => cached(client, KEY, () => 1, { ttlMs: 1 }), invalid("ttlMs"));
    const one = cached(client, KEY, () => 1);
    await assert.rejects(
      within(
        clock,
        20,
        one.write({ waitMs: -1 }, () => {}),
      ),
      invalid("waitMs"),
    );
    await assert.rejects(within(clock, 20, one.write(undefined as never)), invalid("fn"));
  });
});

interface Seen {
  memory: number;
  loads: number;
  writes: number;
  stale: number;
}

/** Four clients read and write for a minute, over networks that come and go. */
async function storm(
  seed: number,
  seen: Seen,
  through: (client: LeaseClient) => CacheClient,
): Promise<void> {
  const { clock, all } = parties(4);
  const random = seededRandom(seed);
  const store = new Store((ms) => pause(clock, ms * random() * 20));
  let returned = 0;
  let isOver = false;
  const read = async (reader: Cached<number>) => {
    while (!isOver) {
      const [least, loads, begun] = [returned, store.loads, clock.now];
      const value = await reader.get();
      if (value < least) seen.stale += 1;
      if (store.loads === loads && clock.now === begun) seen.memory += 1;
      await pause(clock, random() * 100);
    }
  };
  const write = async (writer: Cached<number>) => {
    while (!isOver) {
      await pause(clock, random() * 8_000);
      try {
        const version = await writer.write({ waitMs: 4_000 }, async () => {
          await pause(clock, random() * 50);
          store.value += 1;
          return store.value;
        });
        seen.writes += 1;
        returned = Math.max(returned, version);
      } catch {
        // Not returned: nothing is promised.
      }
    }
  };
  const options = { ttlMs: 1_500, timeoutMs: 300 };
  const values = all.map(({ client }) => cached(through(client), KEY, store.load, options));
  const running = values.flatMap((value) => [follow(read(value)), follow(write(value))]);
  for (let turn = 0; turn < 60; turn += 1) {
    for (const { host } of all) {
      host.restore();
      const lot = random();
      if (lot < 0.2) host.always("*", { deliver: 0 });
      else if (lot < 0.3) host.always("*", { answer: "never" });
      else host.always("*", { toHostMs: random() * 60, toClientMs: random() * 200 });
    }
    await clock.advance(1_000);
  }
  isOver = true;
  for (const { host } of all) host.restore();
  await clock.advance(30_000);
  for (const value of values) value.close();
  await clock.advance(10_000);
  for (const standing of running) assert.equal(standing().status, "fulfilled");
  seen.loads += store.loads;
}

/** Leases that always show as held, and tell nothing. */
function credulous(client: LeaseClient): CacheClient {
  return {
    run: client.run.bind(client),
    watch: client.watch.bind(client),
    tryAcquire: async (...asked) => {
      const lease = await client.tryAcquire(...asked);
      const told = { held: { value: true }, addEventListener: { value: () => {} } };
      return lease && Object.defineProperties<Lease>(lease, told);
    },
  };
}
