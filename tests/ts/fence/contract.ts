import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { LeaseError } from "leasehold";
import type { Fenced } from "leasehold/fence";

/** A store with a guard, as two processes would see it. */
export interface Store {
  /** Notes the fence, in a transaction of its own. */
  advance(lease: Fenced): Promise<unknown>;
  /** Notes the fence and adds a line, all or nothing. */
  write(lease: Fenced, line: string): Promise<unknown>;
  /** All lines of a key and slot so far, in the order in which they were written. */
  lines(lease: Fenced): Promise<string[]>;
  close(): Promise<void>;
}

const isFencedOut = (error: unknown): boolean =>
  error instanceof LeaseError && error.code === "LOST" && error.reason === "fenced-out";

/** What every guard does, whatever it stands in. */
export function guards(name: string, start: () => Promise<Store>): void {
  describe(`fence: ${name}`, () => {
    let store: Store;
    let serial = 0;
    before(async () => {
      store = await start();
    });
    after(() => store.close());

    const freshKey = () => `order:${++serial}`;
    const refused = (attempt: Promise<unknown>) => assert.rejects(attempt, isFencedOut);

    test("a fence lower than the highest is refused, and nothing is written", async () => {
      const key = freshKey();
      await store.write({ key, fence: 2n }, "two");
      await refused(store.write({ key, fence: 1n }, "one"));
      await store.write({ key, fence: 2n }, "two again");
      await store.write({ key, fence: 10n }, "ten");
      await refused(store.write({ key, fence: 9n }, "nine"));
      assert.deepEqual(await store.lines({ key, fence: 10n }), ["two", "two again", "ten"]);
    });

    test("a holder that has taken over is safe from its predecessor before its first write", async () => {
      const key = freshKey();
      await store.write({ key, fence: 1n }, "the old holder's");
      await store.advance({ key, fence: 2n });
      await refused(store.write({ key, fence: 1n }, "too late"));
      await refused(store.advance({ key, fence: 1n }));
      assert.deepEqual(await store.lines({ key, fence: 2n }), ["the old holder's"]);
    });

    test("keys, and the slots of one key, are guarded apart", async () => {
      const [one, other] = [freshKey(), `${freshKey()} "ü' é`];
      await store.write({ key: one, fence: 5n }, "a");
      await store.write({ key: other, fence: 1n }, "b");
      await store.write({ key: one, fence: 3n, slot: 1 }, "c");
      await refused(store.write({ key: one, fence: 4n, slot: 0 }, "d"));
      await refused(store.write({ key: one, fence: 2n, slot: 1 }, "e"));
      assert.deepEqual(await store.lines({ key: one, fence: 5n }), ["a"]);
      assert.deepEqual(await store.lines({ key: other, fence: 1n }), ["b"]);
      assert.deepEqual(await store.lines({ key: one, fence: 3n, slot: 1 }), ["c"]);
    });

    test("fences are compared exactly, as numbers", async () => {
      const key = freshKey();
      for (const fence of [9n, 10n, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n, 2n ** 64n - 1n]) {
        await store.advance({ key, fence });
        await refused(store.advance({ key, fence: fence - 1n }));
      }
    });

    test("however writers race, what is written has fences that never fall", async () => {
      const key = freshKey();
      const fences = Array.from({ length: 24 }, (_, index) => BigInt((index * 7) % 24));
      const outcomes = await Promise.allSettled(
        fences.map((fence) => store.write({ key, fence }, String(fence))),
      );
      for (const outcome of outcomes) {
        assert.ok(outcome.status === "fulfilled" || isFencedOut(outcome.reason), String(outcome));
      }
      const written = (await store.lines({ key, fence: 23n })).map(BigInt);
      assert.equal(written.at(-1), 23n);
      assert.deepEqual(
        written,
        [...written].sort((a, b) => (a < b ? -1 : 1)),
      );
    });

    test("what is no lease is told before anything is sent", async () => {
      const key = freshKey();
      for (const [reason, lease] of [
        ["fence", { key, fence: "1" }],
        ["fence", { key, fence: 1 }],
        ["fence", { key, fence: -1n }],
        ["fence", { key, fence: 2n ** 64n }],
        ["key", { key: "", fence: 1n }],
        ["slot", { key, fence: 1n, slot: 0.5 }],
      ] as const) {
        await assert.rejects(
          async () => store.advance(lease as Fenced),
          (error) => error instanceof LeaseError && error.reason === reason,
        );
      }
    });
  });
}
