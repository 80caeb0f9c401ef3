/** Traps for real: with no memory left, the wasm ends in the middle of whatever it does next. */

import "../support/started-wasm.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LeaseClient, LeaseError } from "leasehold";
import { memory } from "leasehold/memory";
import { redis } from "leasehold/redis";
import { exhaust, wasmOf } from "../support/started-wasm.ts";

describe("a trap ends the call it happens in, not the next", () => {
  test("in the client: other leases live on, new ones are to be had", async () => {
    const leases = new LeaseClient(memory());
    const spared = await leases.acquire("spared", { ttlMs: 60_000 });
    const struck = await leases.acquire("struck", { ttlMs: 60_000 });
    const giveBack = exhaust(wasmOf("Holder"));
    await assert.rejects(struck.renew(), LeaseError);
    giveBack();
    assert.equal(struck.held, false, "nobody knows what became of it");
    assert.ok(struck.signal.aborted);
    await spared.verify();
    await spared.renew();
    const next = await leases.acquire("next");
    assert.deepEqual(await next.release(), { released: true });
    assert.deepEqual(await spared.release(), { released: true });
  });

  test("in the embedded host: the next request is served", async () => {
    const leases = new LeaseClient(memory());
    await (await leases.acquire("a")).release();
    const giveBack = exhaust(wasmOf("MemoryHost"));
    await assert.rejects(leases.acquire("a", { waitMs: 0 }), LeaseError);
    giveBack();
    const lease = await new LeaseClient(memory()).acquire("a");
    assert.deepEqual(await lease.release(), { released: true });
  });

  test("in the Redis carrier: the next call is made", async () => {
    let sent = 0;
    const host = redis({
      send: async () => {
        sent += 1;
        const state = { key: "a", revision: "0", waiters: 0, holders: [] };
        return JSON.stringify({ v: 1, outcome: "state", state });
      },
    });
    const leases = new LeaseClient(host);
    await leases.inspect("a");
    const giveBack = exhaust(wasmOf("RedisCall"));
    await assert.rejects(leases.inspect("a"), LeaseError);
    giveBack();
    assert.equal(await leases.inspect("a"), undefined);
    assert.equal(sent, 2);
  });
});
