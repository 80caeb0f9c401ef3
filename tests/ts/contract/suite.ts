import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type Lease, LeaseClient, LeaseError, type LeaseHandle } from "leasehold";
import type { Host } from "../support/hosts.ts";
import { named } from "./named.ts";
import { observing } from "./observing.ts";
import { pieces } from "./pieces.ts";
import { results } from "./results.ts";
import { setsAndClosing } from "./sets.ts";
import { sharing } from "./sharing.ts";
import type { Bench } from "./tools.ts";
import { answersLost, counted, op, sentTwice } from "./wrappers.ts";

const TTL = 5_000;
/** Long enough to be renewed on a busy machine, short enough to wait for its end. */
const SHORT = 900;

/** What every host does, whatever carries the requests. */
export function contract(name: string, start: () => Promise<Host>): void {
  describe(`contract: ${name}`, () => {
    let subject: Host;
    let serial = 0;
    before(async () => {
      subject = await start();
    });
    after(async () => {
      await subject.close();
    });

    const client = (holder?: string, host = subject.carrier()) =>
      new LeaseClient(host, holder === undefined ? {} : { holder });
    const freshKey = () => `contract:${name}:${++serial}`;
    const code = (expected: string, reason?: string) => (error: unknown) => {
      assert.ok(error instanceof LeaseError, `a LeaseError, not ${String(error)}`);
      assert.equal(error.code, expected);
      if (reason !== undefined) assert.equal(error.reason, reason);
      return true;
    };

    test("a free key is granted, with a fence and the holder's name", async () => {
      const key = freshKey();
      const lease = await client("ada").acquire(key, { ttlMs: TTL });
      assert.equal(lease.key, key);
      assert.equal(lease.holder, "ada");
      assert.ok(lease.fence > 0n);
      assert.ok(lease.held);
      assert.ok(lease.remainingMs() > TTL / 2 && lease.remainingMs() <= TTL);
      assert.equal(lease.signal.aborted, false);
      assert.deepEqual(await lease.release(), { released: true });
      assert.equal(lease.held, false);
      assert.equal(lease.signal.aborted, false);
    });

    test("a held key is refused to others and the first lease is untouched", async () => {
      const key = freshKey();
      const first = client("ada");
      await using lease = await first.acquire(key, { ttlMs: TTL });
      assert.equal(await client("bob").tryAcquire(key), undefined);
      await assert.rejects(client("bob").acquire(key, { waitMs: 0 }), (error: unknown) => {
        code("HELD")(error);
        const held = error as LeaseError;
        assert.equal(held.holder, "ada");
        assert.ok((held.retryAfterMs ?? -1) >= 0 && (held.retryAfterMs ?? 0) <= TTL);
        assert.ok(!held.message.includes("ada"));
        return true;
      });
      // The very client that holds it is refused as well: a lease is not re-entrant unless asked.
      await assert.rejects(first.acquire(key, { waitMs: 0 }), code("HELD"));
      await lease.verify();
    });

    test("fences rise across release, expiry, transfer and revocation", async () => {
      const key = freshKey();
      const fences: bigint[] = [];
      const take = async (options: object = {}) => {
        const lease = await client().acquire(key, { ttlMs: TTL, waitMs: TTL, ...options });
        fences.push(lease.fence);
        return lease;
      };
      await (await take()).release();
      (await take({ ttlMs: SHORT, renew: "manual" })).detach();
      const third = await take();
      const successor = await client().resume(await third.transfer("next"));
      fences.push(successor.fence);
      assert.equal(await client().revoke(key), true);
      await (await take()).release();
      for (const [index, fence] of fences.entries()) {
        if (index > 0) assert.ok(fence > (fences[index - 1] ?? 0n), fences.join(" < "));
      }
    });

    test("a renewal lengthens the term and keeps the fence", async () => {
      const key = freshKey();
      const lease = await client().acquire(key, { ttlMs: SHORT, renew: "manual" });
      const fence = lease.fence;
      await lease.renew({ ttlMs: TTL });
      assert.ok(lease.remainingMs() > SHORT);
      assert.equal(lease.fence, fence);
      assert.equal((await client().inspect(key))?.holders[0]?.fence, fence);
      await lease.release();
    });

    test("a lease is renewed by itself for as long as it is held", async () => {
      const key = freshKey();
      await using lease = await client().acquire(key, { ttlMs: SHORT });
      let renewals = 0;
      await new Promise<void>((done, failed) => {
        lease.addEventListener("renewed", () => {
          renewals += 1;
          if (renewals === 5) done();
        });
        lease.addEventListener("lost", ({ error }) => failed(error));
      });
      assert.ok(lease.held);
      await lease.verify();
    });

    test("the first attempt after the holder's term is granted, and the old one stays dead", async () => {
      const key = freshKey();
      const dead = await client().acquire(key, { ttlMs: SHORT, renew: "manual" });
      const ended = new Promise<void>((done) =>
        dead.signal.addEventListener("abort", () => done(), { once: true }),
      );
      await ended;
      assert.equal(dead.state, "lost");
      assert.ok(dead.signal.reason instanceof LeaseError);
      const next = await client().acquire(key, { ttlMs: TTL, waitMs: TTL });
      assert.ok(next.fence > dead.fence);
      await assert.rejects(dead.renew(), code("LOST"));
      assert.equal((await dead.release()).released, false);
      await next.verify();
      await next.release();
      assert.equal(await client().inspect(key), undefined);
    });

    test("a rival with a shorter term does not shorten the holder's", async () => {
      const key = freshKey();
      const lease = await client().acquire(key, { ttlMs: TTL });
      await assert.rejects(client().acquire(key, { ttlMs: 100, waitMs: 300 }), code("TIMEOUT"));
      await lease.verify();
      await lease.release();
    });

    test("waiters are served in order of arrival", async () => {
      const key = freshKey();
      const first = await client().acquire(key, { ttlMs: TTL });
      const order: number[] = [];
      const waiting: Promise<void>[] = [];
      for (let index = 0; index < 5; index += 1) {
        const queued = Promise.withResolvers<void>();
        const waiter = new LeaseClient(subject.carrier());
        waiting.push(
          waiter.acquire(key, { ttlMs: TTL, waitMs: 15_000 }).then(async (lease) => {
            order.push(index);
            await lease.release();
          }),
        );
        await untilWaiters(key, index + 1);
        queued.resolve();
      }
      await first.release();
      await Promise.all(waiting);
      assert.deepEqual(order, [0, 1, 2, 3, 4]);
    });

    test("nobody passes a queue", async () => {
      const key = freshKey();
      const first = await client().acquire(key, { ttlMs: TTL });
      const waiter = client("waiter").acquire(key, { ttlMs: TTL, waitMs: 15_000 });
      await untilWaiters(key, 1);
      const [, barger] = await Promise.all([first.release(), client("barger").tryAcquire(key)]);
      assert.equal(barger, undefined);
      const lease = await waiter;
      assert.equal(lease.holder, "waiter");
      await lease.release();
    });

    test("an aborted wait rejects with the caller's reason and leaves no place in the queue", async () => {
      const key = freshKey();
      await using lease = await client().acquire(key, { ttlMs: TTL });
      const abort = new AbortController();
      const waiting = client().acquire(key, { waitMs: 15_000, signal: abort.signal });
      await untilWaiters(key, 1);
      const reason = new Error("changed my mind");
      abort.abort(reason);
      await assert.rejects(waiting, (error) => error === reason);
      await untilWaiters(key, 0);
      await lease.verify();
    });

    test("a wait that runs out is TIMEOUT and leaves no place in the queue", async () => {
      const key = freshKey();
      await using lease = await client().acquire(key, { ttlMs: TTL });
      await assert.rejects(client().acquire(key, { waitMs: 200 }), code("TIMEOUT"));
      await untilWaiters(key, 0);
      await lease.verify();
    });

    test("a transfer hands the key over without a gap, and the giver is out", async () => {
      const key = freshKey();
      const giver = await client("ada").acquire(key, { ttlMs: TTL });
      const waiter = client("bob").acquire(key, { waitMs: 300 });
      await untilWaiters(key, 1);
      const handle = await giver.transfer("carl");
      assert.equal(giver.state, "transferred");
      assert.equal(giver.held, false);
      assert.equal(giver.signal.aborted, false);
      await assert.rejects(giver.renew(), code("LOST"));
      assert.equal((await giver.release()).released, false);
      assert.ok(BigInt(handle.fence) > giver.fence);
      assert.equal((await client().inspect(key))?.holders[0]?.holder, "carl");
      await assert.rejects(waiter, code("TIMEOUT"));
      const successor = await client().resume(JSON.parse(JSON.stringify(handle)) as LeaseHandle);
      assert.equal(successor.holder, "carl");
      assert.ok(successor.fence > BigInt(handle.fence));
      assert.notEqual(successor.detach().id, handle.id);
      assert.deepEqual(await successor.release(), { released: true });
    });

    test("of two that resume one handle exactly one holds", async () => {
      const key = freshKey();
      const lease = await client().acquire(key, { ttlMs: TTL });
      const handle = lease.detach();
      assert.equal(lease.state, "detached");
      const outcomes = await Promise.allSettled([
        client().resume(handle),
        client().resume(handle),
        client().resume(handle),
      ]);
      const winners = outcomes.filter((outcome) => outcome.status === "fulfilled");
      assert.equal(winners.length, 1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") code("LOST")(outcome.reason);
      }
      const winner = winners[0] as PromiseFulfilledResult<Lease>;
      assert.ok(winner.value.fence > lease.fence);
      // The predecessor is fenced out: what it knows opens nothing any more.
      assert.equal((await lease.release()).released, false);
      await winner.value.verify();
      await winner.value.release();
    });

    test("a forged lease id opens nothing, whatever fence comes with it", async () => {
      const key = freshKey();
      const lease = await client("ada").acquire(key, { ttlMs: TTL });
      const id = "0123456789abcdef0123456789abcdef";
      const fence = String(lease.fence);
      const forged: LeaseHandle = { v: 1, key, holder: "ada", id, fence, ttlMs: TTL };
      await assert.rejects(client("ada").resume(forged), code("LOST"));
      await lease.verify();
      await lease.release();
    });

    test("inspect tells who holds, with which fence, for how long and who waits", async () => {
      const key = freshKey();
      assert.equal(await client().inspect(key), undefined);
      const lease = await client("ada").acquire(key, { ttlMs: TTL });
      const state = await client("carl").inspect(key);
      assert.equal(state?.waiters, 0);
      const [info] = state?.holders ?? [];
      assert.equal(info?.holder, "ada");
      assert.equal(info?.fence, lease.fence);
      assert.ok((info?.remainingMs ?? 0) > TTL / 2 && (info?.remainingMs ?? TTL + 1) <= TTL);
      await lease.release();
      assert.equal(await client().inspect(key), undefined);
    });

    test("a revoked lease is lost at the next word from the host", async () => {
      const key = freshKey();
      const lease = await client().acquire(key, { ttlMs: TTL });
      assert.equal(await client().revoke(key), true);
      assert.equal(await client().revoke(key), false);
      await assert.rejects(lease.verify(), code("LOST", "revoked"));
      assert.equal(lease.held, false);
      assert.ok(lease.signal.aborted);
      assert.equal((await lease.release()).released, false);
    });

    test("release is one request, however often it is called", async () => {
      const host = counted(subject.carrier());
      const lease = await client(undefined, host).acquire(freshKey(), { ttlMs: TTL });
      const both = await Promise.all([lease.release(), lease.release()]);
      assert.deepEqual(both, [{ released: true }, { released: true }]);
      assert.deepEqual(await lease.release(), { released: true });
      assert.equal(host.count("release"), 1);
    });

    test("an acquire whose answer is lost is granted once and leaves no orphan", async () => {
      const key = freshKey();
      const host = answersLost(subject.carrier(), "acquire", 1);
      const lease = await client(undefined, host).acquire(key, { ttlMs: TTL });
      const state = await client().inspect(key);
      assert.equal(state?.holders[0]?.fence, lease.fence);
      assert.deepEqual(await lease.release(), { released: true });
      assert.equal(await client().inspect(key), undefined);
    });

    test("a single attempt whose answer is lost is taken back", async () => {
      const key = freshKey();
      const host = answersLost(subject.carrier(), "acquire", 1);
      await assert.rejects(
        client(undefined, host).acquire(key, { ttlMs: TTL, waitMs: 0 }),
        code("UNAVAILABLE"),
      );
      await until(async () => (await client().inspect(key)) === undefined);
    });

    test("a release whose answer is lost has released", async () => {
      const key = freshKey();
      const host = answersLost(subject.carrier(), "release", 1);
      const lease = await client(undefined, host).acquire(key, { ttlMs: TTL });
      assert.deepEqual(await lease.release(), { released: true });
      assert.equal(await client().inspect(key), undefined);
    });

    test("a transfer or resume whose answer is lost happens once", async () => {
      const key = freshKey();
      const host = answersLost(subject.carrier(), "transfer", 1);
      const lease = await client(undefined, host).acquire(key, { ttlMs: TTL });
      const handle = await lease.transfer("next");
      assert.equal((await client().inspect(key))?.holders[0]?.fence, BigInt(handle.fence));
      const resuming = answersLost(subject.carrier(), "transfer", 1);
      const successor = await client(undefined, resuming).resume(handle);
      assert.equal((await client().inspect(key))?.holders[0]?.fence, successor.fence);
      await successor.release();
    });

    test("every operation sent twice has the effect of one", async () => {
      const key = freshKey();
      const host = sentTwice(subject.carrier());
      const leases = client(undefined, host);
      const lease = await leases.acquire(key, { ttlMs: TTL });
      await lease.renew();
      await lease.verify();
      const successor = await leases.resume(await lease.transfer("next"));
      assert.deepEqual(await successor.release(), { released: true });
      assert.equal(await leases.inspect(key), undefined);
    });

    test("a cancelled op is never granted, even if it arrives later", async () => {
      const key = freshKey();
      const host = subject.carrier();
      const acquire = op.acquire(key);
      assert.equal((await op.send(host, op.cancel(acquire))).outcome, "cancelled");
      assert.equal((await op.send(host, acquire)).outcome, "cancelled");
      assert.equal(await client().inspect(key), undefined);
      const granted = op.acquire(key);
      assert.equal((await op.send(host, granted)).outcome, "granted");
      assert.equal((await op.send(host, op.cancel(granted))).outcome, "cancelled");
      assert.equal(await client().inspect(key), undefined);
    });

    test("an op repeated gets its first outcome", async () => {
      const key = freshKey();
      const host = subject.carrier();
      const acquire = op.acquire(key);
      const first = await op.send(host, acquire);
      const again = await op.send(host, acquire);
      assert.equal(again.outcome, "granted");
      assert.equal(again.replayed, true);
      assert.equal(again.lease, first.lease);
      assert.equal(again.fence, first.fence);
      const release = op.release(acquire);
      assert.equal((await op.send(host, release)).outcome, "released");
      assert.equal((await op.send(host, release)).outcome, "released");
      // A late repetition of the acquire must not bring the lease back to life.
      await op.send(host, acquire);
      assert.equal(await client().inspect(key), undefined);
    });

    test("of many that race exactly one is granted, and fences never repeat", async () => {
      const key = freshKey();
      const fences = new Set<bigint>();
      for (let round = 0; round < 3; round += 1) {
        const racers = await Promise.all(
          Array.from({ length: 20 }, () => client().tryAcquire(key, { ttlMs: TTL })),
        );
        const winners = racers.filter((lease) => lease !== undefined);
        assert.equal(winners.length, 1);
        for (const lease of winners) {
          assert.ok(!fences.has(lease.fence));
          fences.add(lease.fence);
          await lease.release();
        }
      }
    });

    test("keys are kept apart and intact, byte for byte", async () => {
      const base = freshKey();
      const keys = [
        "café",
        "cafe\u0301",
        "ключ🔒",
        "\0x",
        "a}b{c",
        "{}",
        "%7B",
        " ",
        "a/b?c#d",
        "k".repeat(400),
      ].map((key) => `${base}:${key}`);
      const leases = await Promise.all(
        keys.map((key) => client().acquire(key, { ttlMs: TTL, waitMs: 0 })),
      );
      for (const lease of leases) await lease.verify();
      for (const lease of leases) assert.deepEqual(await lease.release(), { released: true });
    });

    test("holders' names travel exactly", async () => {
      const key = freshKey();
      for (const holder of [
        "12345",
        "1e3",
        "true",
        "null",
        "{}",
        "12345678901234567890",
        "a b\nc",
      ]) {
        const lease = await client(holder).acquire(key, { ttlMs: TTL });
        assert.equal((await client().inspect(key))?.holders[0]?.holder, holder);
        await lease.release();
      }
    });

    test("bad arguments are INVALID and nothing is sent", async () => {
      const host = counted(subject.carrier());
      const leases = client(undefined, host);
      for (const ttlMs of [1.5, Number.NaN, -1, 0, 99, 2 ** 31, Number.POSITIVE_INFINITY]) {
        await assert.rejects(leases.acquire("k", { ttlMs }), code("INVALID"), `ttl ${ttlMs}`);
      }
      for (const key of ["", "k".repeat(513), "\ud800", "語".repeat(171)]) {
        await assert.rejects(leases.acquire(key), code("INVALID"), JSON.stringify(key));
        await assert.rejects(leases.inspect(key), code("INVALID"));
      }
      await assert.rejects(leases.acquire("k", { waitMs: -1 }), code("INVALID"));
      await assert.rejects(
        leases.acquire("k", { ttlMs: "10s" as unknown as number }),
        code("INVALID"),
      );
      assert.equal(host.count(), 0);
    });

    test("the host itself refuses what no client of ours would send", async () => {
      const host = subject.carrier();
      for (const ttlMs of [0, -1, Number.NaN, 1e12]) {
        const response = await op.send(host, { ...op.acquire(freshKey()), ttlMs });
        assert.equal(response.outcome, "refused", `ttl ${ttlMs}`);
        assert.equal(response.code, "INVALID");
      }
    });

    test("run releases when the work is done and passes its result or error on", async () => {
      const key = freshKey();
      const leases = client();
      assert.equal(await leases.run(key, { ttlMs: TTL }, (lease) => lease.key), key);
      const bug = new TypeError("a bug");
      await assert.rejects(
        leases.run(key, () => {
          throw bug;
        }),
        (error) => error === bug,
      );
      assert.equal(await leases.inspect(key), undefined);
      assert.equal(leases.heldLeases.length, 0);
    });

    setsAndClosing(client, freshKey);
    const bench: Bench = { client, carrier: () => subject.carrier(), freshKey };
    for (const part of [sharing, results, observing, named]) part(bench);
    pieces(client, freshKey);

    async function untilWaiters(key: string, count: number): Promise<void> {
      await until(async () => (await client().inspect(key))?.waiters === count);
    }
  });
}

/** Waits for a condition on the host to come true. */
async function until(condition: () => Promise<boolean>, deadlineMs = 5_000): Promise<void> {
  const deadline = Date.now() + deadlineMs;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `still not so after ${deadlineMs} ms`);
    await new Promise((wake) => setTimeout(wake, 5));
  }
}
