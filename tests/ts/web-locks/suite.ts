import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { LockManager } from "leasehold/web-locks";

/** What every lock manager has. */
export type Locks = Pick<LockManager, "request" | "query">;

/** Two lock managers for the same names. */
export interface Pair {
  readonly one: Locks;
  readonly other: Locks;
  close?(): Promise<void>;
}

/** A text that nobody else uses as a name. */
export const unique = () => `locks:${crypto.randomUUID()}`;

const fails = (name: string) => (error: unknown) => {
  assert.equal((error as Error).name, name, String(error));
  assert.equal(error instanceof (name === "TypeError" ? TypeError : DOMException), true);
  return true;
};

const never = () => assert.fail("called back");

/** Requests a lock and keeps it until told; `done` is what the request comes to. */
export async function holdLock(locks: Locks, name: string, options: object = {}) {
  const { promise: kept, resolve: release } = Promise.withResolvers<unknown>();
  const { promise: held, resolve: granted } = Promise.withResolvers<void>();
  const done = locks.request(name, options, () => {
    granted();
    return kept;
  });
  done.catch(() => {});
  await Promise.race([held, done]);
  return { release, done };
}

/** Waits until so many requests for a name wait, as the manager sees it. */
export async function waiting(locks: Locks, name: string, count: number): Promise<void> {
  for (;;) {
    const { pending } = await locks.query();
    if (pending.filter((each) => each.name === name).length === count) return;
    await new Promise((wake) => setTimeout(wake, 10));
  }
}

/** What the standard says of lock managers, whoever made them. */
export function suite(
  title: string,
  start: () => Promise<Pair>,
  but: readonly string[] = [],
): void {
  const should = (what: string, run: () => Promise<void>) =>
    test(what, { skip: but.includes(what) }, run);
  describe(`Web Locks: ${title}`, () => {
    let pair: Pair;
    let one: Locks;
    let other: Locks;
    before(async () => {
      pair = await start();
      ({ one, other } = pair);
    });
    after(() => pair.close?.());

    /** A name that both have used, which is what they show where a host can't list all names. */
    const known = async () => {
      const name = unique();
      for (const locks of [one, other]) await locks.request(name, () => {});
      return name;
    };

    const request = (...args: unknown[]) =>
      (one.request as (...args: unknown[]) => Promise<unknown>).apply(one, args);

    should("arguments that can't be converted reject with a TypeError", async () => {
      const name = unique();
      for (const args of [[], [name]]) {
        await assert.rejects(request(...args), fails("TypeError"));
      }
      for (const callback of [undefined, null, 123, "abc", [], {}, new Promise(() => {})]) {
        await assert.rejects(request(name, callback), fails("TypeError"));
        await assert.rejects(request(name, {}, callback), fails("TypeError"));
      }
      for (const mode of ["foo", null, "", "Exclusive", Symbol("shared")]) {
        await assert.rejects(request(name, { mode }, never), fails("TypeError"));
      }
      for (const signal of ["text", 12.34, false, {}, Symbol("s"), () => {}, globalThis, null]) {
        await assert.rejects(request(name, { signal }, never), fails("TypeError"));
      }
      for (const options of ["text", 12, true]) {
        await assert.rejects(request(name, options, never), fails("TypeError"));
      }
      await assert.rejects(request(Symbol("name"), never), fails("TypeError"));
    });

    should(
      "options that exclude each other, and names with a hyphen first, are not supported",
      async () => {
        const name = unique();
        const { signal } = new AbortController();
        for (const options of [
          { steal: true, ifAvailable: true },
          { steal: true, mode: "shared" },
          { steal: true, signal },
          { ifAvailable: true, signal },
        ]) {
          await assert.rejects(request(name, options, never), fails("NotSupportedError"));
        }
        await assert.rejects(request("-", never), fails("NotSupportedError"));
        await assert.rejects(request("-name", never), fails("NotSupportedError"));
      },
    );

    should("what can be converted is", async () => {
      const name = unique();
      for (const options of [
        null,
        undefined,
        {},
        { mode: undefined, signal: undefined, else: 1 },
      ]) {
        assert.equal(
          await request(name, options, ({ mode }: { mode: string }) => mode),
          "exclusive",
        );
      }
      assert.equal(await request(name, { steal: 0, ifAvailable: "" }, () => 7), 7);
      assert.equal(await request(12, ({ name }: { name: string }) => name), "12");
      assert.equal(await request(null, ({ name }: { name: string }) => name), "null");
    });

    should("any text is a name, and different texts are different locks", async () => {
      const odd = ["", "a\0b", "\ufeff", "\ud800", "\udfff", "😀", "x".repeat(2_000), " ", "a-"];
      for (const name of odd) {
        assert.equal(await one.request(name, (lock) => lock?.name), name);
      }
      for (const [name, unlike] of [
        ["\ud800", "\ud801"],
        ["\ud800", "\ufffd"],
        ["y".repeat(2_000), `${"y".repeat(2_000)}y`],
      ] as const) {
        await one.request(name, async () => {
          assert.equal(
            await other.request(unlike, { ifAvailable: true }, (lock) => lock?.name),
            unlike,
          );
          assert.equal(await other.request(name, { ifAvailable: true }, (lock) => lock), null);
        });
      }
    });

    // biome-ignore lint/suspicious/noThenProperty: what is neither a promise nor none
    const thenable = { then: (done: (value: string) => void) => done("thenable") };

    should("a request comes to what its callback comes to, after the lock is free", async () => {
      const name = unique();
      assert.equal(await one.request(name, () => "now"), "now");
      assert.equal(await one.request(name, async () => "later"), "later");
      assert.equal(await request(name, () => thenable), "thenable");
    });

    should(
      "what the callback throws is what the request rejects with, and the lock is free",
      async () => {
        const name = unique();
        const thrown = { name: "thrown" };
        for (const callback of [
          () => {
            throw thrown;
          },
          () => Promise.reject(thrown),
        ]) {
          await assert.rejects(one.request(name, callback), (error) => error === thrown);
          assert.equal(
            await other.request(name, { ifAvailable: true }, (lock) => lock?.name),
            name,
          );
        }
      },
    );

    should("the callback is never called before request has returned", async () => {
      let returned = false;
      const done = one.request(unique(), () => returned);
      returned = true;
      assert.equal(await done, true);
    });

    should("a lock shows name and mode, and what it is", async () => {
      const name = unique();
      await one.request(name, { mode: "shared" }, (lock) => {
        assert.deepEqual([lock?.name, lock?.mode, String(lock)], [name, "shared", "[object Lock]"]);
        assert.throws(() => Object.assign(lock ?? {}, { name: "x" }), TypeError);
      });
      assert.equal(String(one), "[object LockManager]");
    });

    should("requests of one manager are granted in their order, one at a time", async () => {
      const name = unique();
      const order: number[] = [];
      let holders = 0;
      const asked = Array.from({ length: 5 }, (_, at) =>
        one.request(name, async () => {
          holders += 1;
          assert.equal(holders, 1);
          order.push(at);
          await new Promise((wake) => setTimeout(wake, 5));
          holders -= 1;
        }),
      );
      await Promise.all(asked);
      assert.deepEqual(order, [0, 1, 2, 3, 4]);
    });

    should("requests of two managers are granted in the order in which they came", async () => {
      const name = await known();
      const order: string[] = [];
      const first = await holdLock(one, name);
      const asked: Promise<unknown>[] = [];
      for (const [at, locks] of [one, other, one, other].entries()) {
        asked.push(locks.request(name, () => order.push(`${at}`)));
        await waiting(other, name, at + 1);
      }
      first.release(undefined);
      await Promise.all(asked);
      assert.deepEqual(order, ["0", "1", "2", "3"]);
    });

    should("shared locks are held together, an exclusive one alone, each in its turn", async () => {
      const name = await known();
      const shared = { mode: "shared" };
      const readers = [await holdLock(one, name, shared), await holdLock(other, name, shared)];
      const order: string[] = [];
      const writer = one.request(name, () => order.push("writer"));
      await waiting(other, name, 1);
      const reader = other.request(name, { mode: "shared" }, () => order.push("reader"));
      await waiting(other, name, 2);
      assert.deepEqual(order, []);
      for (const { release } of readers) release(undefined);
      await Promise.all([writer, reader]);
      assert.deepEqual(order, ["writer", "reader"]);
    });

    should("requests of one manager in different modes keep their order, too", async () => {
      const name = await known();
      const order: string[] = [];
      const modes = ["shared", "shared", "exclusive", "shared", "exclusive"] as const;
      await Promise.all(
        modes.map((mode, at) =>
          one.request(name, { mode }, async () => {
            order.push(`${at} in`);
            await new Promise((wake) => setTimeout(wake, 5));
            order.push(`${at} out`);
          }),
        ),
      );
      const began = order.filter((each) => each.endsWith("in"));
      assert.deepEqual(began, ["0 in", "1 in", "2 in", "3 in", "4 in"]);
      for (const alone of ["2", "4"]) {
        assert.equal(order.indexOf(`${alone} out`), order.indexOf(`${alone} in`) + 1);
      }
    });

    should("ifAvailable calls back with null instead of waiting", async () => {
      const name = await known();
      const now = { ifAvailable: true };
      const nowShared = { ifAvailable: true, mode: "shared" } as const;
      const mode = (locks: Locks, options: object) =>
        locks.request(name, options, (lock) => lock?.mode ?? null);
      assert.equal(await mode(one, now), "exclusive");
      const alone = await holdLock(one, name);
      for (const locks of [one, other]) {
        assert.equal(await mode(locks, now), null);
        assert.equal(await mode(locks, nowShared), null);
      }
      alone.release(undefined);
      await alone.done;
      const reader = await holdLock(one, name, { mode: "shared" });
      assert.equal(await mode(other, now), null);
      assert.equal(await mode(other, nowShared), "shared");
      const writer = one.request(name, () => {});
      await waiting(other, name, 1);
      assert.equal(await mode(other, nowShared), null);
      reader.release(undefined);
      await writer;
      const thrown = new Error("thrown for null");
      await one.request(name, async () => {
        const refused = other.request(name, now, () => {
          throw thrown;
        });
        await assert.rejects(refused, (error) => error === thrown);
      });
    });

    should("steal breaks the lock and goes before those who wait", async () => {
      for (const thief of [one, other]) {
        const name = await known();
        const victim = await holdLock(one, name);
        const order: string[] = [];
        const patient = other.request(name, () => order.push("patient"));
        await waiting(other, name, 1);
        const stolen = await holdLock(thief, name, { steal: true });
        order.push("stolen");
        await assert.rejects(victim.done, fails("AbortError"));
        victim.release("too late");
        stolen.release("kept");
        assert.equal(await stolen.done, "kept");
        await patient;
        assert.deepEqual(order, ["stolen", "patient"]);
      }
    });

    should("steal breaks shared locks as well, and takes what is free", async () => {
      const name = await known();
      assert.equal(await one.request(name, { steal: true }, (lock) => lock?.name), name);
      const readers = [
        await holdLock(one, name, { mode: "shared" }),
        await holdLock(other, name, { mode: "shared" }),
      ];
      assert.equal(await one.request(name, { steal: true }, (lock) => lock?.mode), "exclusive");
      for (const { done } of readers) await assert.rejects(done, fails("AbortError"));
    });

    should("a signal that has aborted refuses the request with its reason", async () => {
      const name = await known();
      for (const reason of [undefined, "my dog ate it", new Error("own")]) {
        const signal = AbortSignal.abort(reason);
        await assert.rejects(
          one.request(name, { signal }, never),
          (error) => error === signal.reason,
        );
      }
    });

    should("a signal that aborts at once ends the request", async () => {
      const name = await known();
      const early = new AbortController();
      const free = one.request(name, { signal: early.signal }, never);
      early.abort();
      await assert.rejects(free, fails("AbortError"));
      assert.equal(await one.request(name, () => "free"), "free");
    });

    should("a signal that aborts while the request waits ends it, and no other", async () => {
      const name = await known();
      const first = await holdLock(other, name);
      const waits = new AbortController();
      const aborted = one.request(name, { signal: waits.signal }, never);
      const next = one.request(name, () => "next");
      await waiting(one, name, 2);
      waits.abort("enough");
      await assert.rejects(aborted, (reason) => reason === "enough");
      await waiting(one, name, 1);
      first.release(undefined);
      assert.equal(await next, "next");
    });

    should("a signal that aborts after the grant does nothing", async () => {
      const name = await known();
      const controller = new AbortController();
      const held = await holdLock(one, name, { signal: controller.signal });
      controller.abort();
      assert.equal(await other.request(name, { ifAvailable: true }, (lock) => lock), null);
      held.release("done");
      assert.equal(await held.done, "done");
    });

    should("query shows what is held and what waits", async () => {
      const name = await known();
      const of = ({ held, pending }: Awaited<ReturnType<Locks["query"]>>) => ({
        held: held.filter((each) => each.name === name),
        pending: pending.filter((each) => each.name === name),
      });
      assert.deepEqual(of(await one.query()), { held: [], pending: [] });
      const readers = [
        await holdLock(one, name, { mode: "shared" }),
        await holdLock(other, name, { mode: "shared" }),
      ];
      const writer = one.request(name, () => {});
      await waiting(other, name, 1);
      const { held, pending } = of(await one.query());
      assert.deepEqual(
        held.map(({ mode }) => mode),
        ["shared", "shared"],
      );
      assert.equal(new Set(held.map(({ clientId }) => clientId)).size, one === other ? 1 : 2);
      assert.deepEqual(
        pending.map(({ mode }) => mode),
        ["exclusive"],
      );
      assert.ok(held.some(({ clientId }) => clientId === pending[0]?.clientId));
      for (const { release } of readers) release(undefined);
      await writer;
      assert.deepEqual(of(await one.query()), { held: [], pending: [] });
    });
  });
}
