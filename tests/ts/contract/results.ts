import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseClient } from "leasehold";
import { type Bench, fails, TTL, untilWaiters, WAIT } from "./tools.ts";
import { answersLost, sentTwice } from "./wrappers.ts";

const KEEP = 60_000;

/** What every host does for work that is done once. */
export function results({ client, carrier, freshKey }: Bench): void {
  test("work is done once, and everybody gets its result: the runner, who waited and who comes later", async () => {
    const key = freshKey();
    let runs = 0;
    const work = async () => {
      runs += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return { rows: [1, 2.5, "three", null], at: { nested: true } };
    };
    const options = { keepMs: KEEP, ttlMs: TTL, waitMs: WAIT };
    const together = await Promise.all(
      Array.from({ length: 4 }, () => client().runOnce(key, options, work)),
    );
    const later = await client().runOnce(key, options, work);
    for (const result of [...together, later]) {
      assert.deepEqual(result, { rows: [1, 2.5, "three", null], at: { nested: true } });
    }
    assert.equal(runs, 1);
  });

  test("nothing is a result, too; what JSON can't say is none", async () => {
    const key = freshKey();
    const options = { keepMs: KEEP, ttlMs: TTL };
    const bad = client().runOnce(key, options, () => 1n as never);
    await assert.rejects(bad, fails("INVALID", { reason: "result" }));
    const large = client().runOnce(key, options, () => "€".repeat(2_731));
    await assert.rejects(large, fails("INVALID", { reason: "result" }));
    assert.equal(await client().runOnce(key, options, () => {}), null);
    const most = freshKey();
    const result = "€".repeat(2_730);
    assert.equal(await client().runOnce(most, options, () => result), result);
    assert.equal(await client().runOnce(most, options, () => "again"), result);
  });

  test("work that throws is not done: its lease is free, and the next one does it", async () => {
    const key = freshKey();
    const options = { keepMs: KEEP, ttlMs: TTL, waitMs: WAIT };
    let next: Promise<string> | undefined;
    const failed = client().runOnce(key, options, async () => {
      next = client().runOnce(key, options, () => "done");
      await untilWaiters(client(), key, 1);
      throw new Error("not today");
    });
    await assert.rejects(failed, /not today/);
    assert.equal(await next, "done");
  });

  test("who asks for a key that is done is told so, with its fence, and the result goes to nobody else", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    const waiting = client().acquire(key, { ttlMs: TTL, waitMs: WAIT });
    const told = assert.rejects(waiting, fails("DONE", { key, fence: lease.fence }));
    await untilWaiters(client(), key, 1);
    await lease.finish({ result: "a secret of the askers", keepMs: KEEP });
    await told;
    assert.equal(lease.state, "finished");
    assert.equal(lease.signal.aborted, false);
    assert.deepEqual(await lease.release(), { released: false, reason: "finished" });
    for (const asked of [
      () => client().acquire(key),
      () => client().tryAcquire(key),
      () => client().run(key, () => {}),
    ]) {
      await assert.rejects(asked, (error: Error & { ageMs?: number }) => {
        assert.ok((error.ageMs ?? -1) >= 0 && (error.ageMs ?? 0) < WAIT);
        assert.ok(!JSON.stringify(error).includes("secret"));
        return fails("DONE", { key, fence: lease.fence })(error);
      });
    }
    const state = await client().inspect(key);
    assert.deepEqual(state?.holders, []);
    assert.equal(state?.done?.fence, lease.fence);
    assert.ok((state?.done?.remainingMs ?? 0) > KEEP / 2);
    assert.ok(
      !JSON.stringify(state, (_, v) => (typeof v === "bigint" ? `${v}` : v)).includes("secret"),
    );
  });

  test("revoke has it done once more, under a higher fence", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    await lease.finish({ keepMs: KEEP });
    assert.equal(await client().revoke(key), true);
    const again = await client().acquire(key, { ttlMs: TTL });
    assert.ok(again.fence > lease.fence);
    await again.release();
  });

  test("another input is refused where the result of the first would be given", async () => {
    const key = freshKey();
    const options = { keepMs: KEEP, ttlMs: TTL, waitMs: WAIT };
    await client().runOnce(key, { ...options, fingerprint: "a" }, async () => {
      const other = client().runOnce(key, { ...options, fingerprint: "b" }, () => 2);
      await assert.rejects(other, fails("INVALID", { reason: "fingerprint" }));
      return 1;
    });
    const other = client().runOnce(key, { ...options, fingerprint: "b" }, () => 2);
    await assert.rejects(other, fails("INVALID", { reason: "fingerprint" }));
    assert.equal(await client().runOnce(key, { ...options, fingerprint: "a" }, () => 3), 1);
  });

  test("a finish whose answer is lost, or that comes twice, is one finish", async () => {
    for (const host of [answersLost(carrier(), "finish", 1), sentTwice(carrier())]) {
      const key = freshKey();
      const lease = await new LeaseClient(host).acquire(key, { ttlMs: TTL });
      await lease.finish({ result: [1], keepMs: KEEP });
      assert.deepEqual(await client().runOnce(key, { keepMs: KEEP }, () => [2]), [1]);
    }
  });

  test("a lease that is not its holder's alone can't be finished, and stays", async () => {
    const key = freshKey();
    await using lease = await client().acquire(key, { limit: 2, ttlMs: TTL });
    await assert.rejects(
      lease.finish({ keepMs: KEEP }),
      fails("INVALID", { reason: "not-exclusive" }),
    );
    await lease.verify();
  });

  test("a lost lease finishes nothing", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    assert.equal(await client().revoke(key), true);
    await assert.rejects(lease.finish({ keepMs: KEEP }), fails("LOST", { reason: "revoked" }));
    await (await client().acquire(key, { ttlMs: TTL })).release();
  });
}
