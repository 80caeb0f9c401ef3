import assert from "node:assert/strict";
import { test } from "node:test";
import { type KeyState, LeaseClient } from "leasehold";
import { type Bench, fails, TTL, WAIT } from "./tools.ts";
import { answersLost, sentTwice } from "./wrappers.ts";

/** What every host tells of its keys, and lets holders tell. */
export function observing({ client, carrier, freshKey }: Bench): void {
  test("entries are set, changed and deleted by their holder, and end with the grant", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    const entries = async () => (await client().inspect(key))?.holders[0]?.entries;
    assert.deepEqual(await entries(), {});
    await lease.setEntry("b", { step: 2, of: [3, null] });
    await lease.setEntry("a", "first");
    assert.deepEqual(Object.entries((await entries()) ?? {}), [
      ["a", "first"],
      ["b", { step: 2, of: [3, null] }],
    ]);
    await lease.setEntry("a", 1);
    await lease.deleteEntry("b");
    await lease.deleteEntry("never there");
    assert.deepEqual(await entries(), { a: 1 });
    await lease.release();
    await using next = await client().acquire(key, { ttlMs: TTL });
    assert.deepEqual(await entries(), {});
    await next.verify();
  });

  test("entries that are set at once end as they were set last", async () => {
    const key = freshKey();
    const hosts = [carrier(), answersLost(carrier(), "entry", 2), sentTwice(carrier())];
    for (const host of hosts) {
      await using lease = await new LeaseClient(host).acquire(key, { ttlMs: TTL, waitMs: WAIT });
      const set = [1, 2, 3, 4].map((value) => lease.setEntry("at", value));
      await Promise.all([...set, lease.setEntry("gone", 1), lease.deleteEntry("gone")]);
      assert.deepEqual((await client().inspect(key))?.holders[0]?.entries, { at: 4 });
    }
  });

  test("there are 64 entries of a grant, of 4 096 bytes each, and no more", async () => {
    const key = freshKey();
    await using lease = await client().acquire(key, { ttlMs: TTL });
    await assert.rejects(
      lease.setEntry("large", "x".repeat(4_095)),
      fails("INVALID", { reason: "value" }),
    );
    await lease.setEntry("e0", "x".repeat(4_094));
    await Promise.all(Array.from({ length: 63 }, (_, i) => lease.setEntry(`e${i + 1}`, i)));
    await assert.rejects(
      lease.setEntry("one more", 0),
      fails("INVALID", { reason: "entries-full" }),
    );
    await lease.setEntry("e63", "still mine");
    const entries = (await client().inspect(key))?.holders[0]?.entries ?? {};
    assert.equal(Object.keys(entries).length, 64);
    assert.equal(entries.e63, "still mine");
  });

  test("nobody but the holder sets an entry", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    assert.equal(await client().revoke(key, { fence: lease.fence }), true);
    await using next = await client().acquire(key, { ttlMs: TTL });
    await assert.rejects(lease.setEntry("a", 1), fails("LOST", { reason: "revoked" }));
    assert.deepEqual((await client().inspect(key))?.holders[0]?.entries, {});
    await next.verify();
  });

  test("a watcher sees what a key comes to: granted, changed, renewed without a word, free", async () => {
    const key = freshKey();
    const watching = new AbortController();
    const states = client().watch(key, { signal: watching.signal })[Symbol.asyncIterator]();
    const next = async (): Promise<KeyState> => (await states.next()).value;
    assert.deepEqual(await next(), { key, revision: "0", holders: [], waiters: 0 });
    const lease = await client("ada").acquire(key, { ttlMs: TTL });
    const granted = await next();
    assert.equal(granted.holders[0]?.holder, "ada");
    assert.equal(granted.holders[0]?.fence, lease.fence);
    const changed = next();
    await lease.renew();
    await lease.verify();
    await lease.setEntry("a", 1);
    assert.deepEqual((await changed).holders[0]?.entries, { a: 1 });
    const free = next();
    await lease.release();
    assert.deepEqual((await free).holders, []);
    const end = assert.rejects(next(), /seen enough/);
    watching.abort(new Error("seen enough"));
    await end;
  });

  test("a watcher is told of an end that nobody reports: that of a term", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: 500, renew: "manual" });
    const { fence } = lease;
    lease.detach();
    for await (const state of client().watch(key)) {
      if (state.holders.length === 0) break;
      assert.equal(state.holders[0]?.fence, fence);
    }
  });

  test("a watcher that knows a state is told of the next one alone, however long ago it was", async () => {
    const key = freshKey();
    const lease = await client().acquire(key, { ttlMs: TTL });
    const known = await client().inspect(key);
    assert.ok(known);
    await lease.setEntry("a", 1);
    await lease.setEntry("a", 2);
    for await (const state of client().watch(key, { after: known.revision })) {
      assert.notEqual(state.revision, known.revision);
      assert.deepEqual(state.holders[0]?.entries, { a: 2 });
      break;
    }
    await lease.release();
  });

  test("revoke ends all grants of a key, or the one with a fence", async () => {
    const key = freshKey();
    const options = { limit: 2, ttlMs: TTL };
    const [first, second] = [
      await client().acquire(key, options),
      await client().acquire(key, options),
    ];
    assert.equal(await client().revoke(key, { fence: second.fence + 1n }), false);
    assert.equal(await client().revoke(key, { fence: second.fence }), true);
    await assert.rejects(second.verify(), fails("LOST", { reason: "revoked" }));
    await first.verify();
    assert.equal(await client().revoke(key), true);
    await assert.rejects(first.verify(), fails("LOST", { reason: "revoked" }));
    assert.equal(await client().revoke(key), false);
  });

  test("keys are listed by prefix, each once, or not at all", async () => {
    const host = carrier();
    const leases = new LeaseClient(host);
    const prefix = `${freshKey()}:`;
    if (host.capabilities.list !== true) {
      assert.throws(() => leases.list({ prefix }), fails("INVALID", { reason: "list" }));
      return;
    }
    const keys = Array.from({ length: 120 }, (_, i) => `${prefix}${String(i).padStart(3, "0")}`);
    const held = await Promise.all(keys.map((key) => leases.acquire(key, { ttlMs: WAIT })));
    const states = [];
    for await (const state of leases.list({ prefix })) states.push(state);
    states.sort((a, b) => (a.key < b.key ? -1 : 1));
    assert.deepEqual(
      states.map(({ key }) => key),
      keys,
    );
    assert.deepEqual(
      states.map(({ holders }) => holders[0]?.fence),
      held.map(({ fence }) => fence),
    );
    await leases.close();
  });
}
