import assert from "node:assert/strict";
import { test } from "node:test";
import { type Bench, fails, TTL } from "./tools.ts";

const SECRET = "a secret that all processes share";

/** What every host does for those who know nothing but an owner's name. */
export function named({ client, freshKey }: Bench): void {
  const leases = (secret = SECRET) => client().named({ secret });
  /** The grant, or nothing where another owner has the key. */
  const granted = async (key: string, owner: string, secret?: string) => {
    const answer = await leases(secret).acquire(key, owner, { ttlMs: TTL });
    return answer.granted ? answer : undefined;
  };

  test("an owner is the same in every process, and its grant goes on when it acquires again", async () => {
    const key = freshKey();
    const grant = await granted(key, "ada");
    assert.ok(grant !== undefined && grant.fence > 0n);
    assert.ok(grant.remainingMs > TTL / 2 && grant.remainingMs <= TTL);
    assert.equal(await granted(key, "bob"), undefined);
    assert.equal((await granted(key, "ada"))?.fence, grant.fence);
    assert.ok(((await leases().renew(key, "ada", { ttlMs: 2 * TTL }))?.remainingMs ?? 0) > TTL);
    const owner = await leases().owner(key);
    assert.equal(owner?.owner, "ada");
    assert.equal(owner?.fence, grant.fence);
    assert.equal(await leases().release(key, "ada", { fence: grant.fence }), true);
    assert.equal(await leases().owner(key), undefined);
    assert.equal(await leases().renew(key, "ada"), undefined);
    assert.equal(await leases().release(key, "ada"), false);
  });

  test("another secret, another owner: it opens nothing", async () => {
    const key = freshKey();
    const grant = await granted(key, "ada");
    const others = leases("a secret of somebody else");
    assert.equal(await granted(key, "ada", "a secret of somebody else"), undefined);
    assert.equal(await others.renew(key, "ada"), undefined);
    assert.equal(await others.release(key, "ada"), false);
    assert.equal(await others.transfer(key, "ada", "bob"), undefined);
    assert.equal((await leases().owner(key))?.fence, grant?.fence);
  });

  test("what names an earlier grant of the owner's leaves its present one alone", async () => {
    const key = freshKey();
    const first = await granted(key, "ada");
    assert.equal(await leases().release(key, "ada"), true);
    const second = await granted(key, "ada");
    assert.ok(first && second && second.fence > first.fence);
    const about = { fence: first.fence };
    assert.equal(await leases().release(key, "ada", about), false);
    assert.equal(await leases().renew(key, "ada", about), undefined);
    assert.equal(await leases().transfer(key, "ada", "bob", about), undefined);
    assert.equal((await leases().owner(key))?.fence, second.fence);
  });

  test("a transfer makes it the other owner's, under a higher fence", async () => {
    const key = freshKey();
    const mine = await granted(key, "ada");
    const theirs = await leases().transfer(key, "ada", "bob", { ttlMs: TTL });
    assert.ok(mine && theirs && theirs.fence > mine.fence);
    assert.equal(await leases().renew(key, "ada"), undefined);
    assert.equal((await leases().owner(key))?.owner, "bob");
    assert.equal(await leases().release(key, "bob"), true);
  });

  test("a client of the ordinary kind contends with them, and is told whose it is", async () => {
    const key = freshKey();
    await granted(key, "ada");
    await assert.rejects(client().acquire(key, { waitMs: 0 }), fails("HELD"));
    assert.equal(await leases().release(key, "ada"), true);
    const lease = await client("carl").acquire(key, { ttlMs: TTL });
    assert.equal((await leases().owner(key))?.owner, "carl");
    await lease.finish({ keepMs: 60_000 });
    await assert.rejects(leases().acquire(key, "ada"), fails("DONE", { fence: lease.fence }));
  });
}
