import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { type AcquireOptions, type LeaseBackend, LeaseClient, type WireResponse } from "leasehold";
import { bench, leaseError, within } from "../support/bench.ts";

const BAD_TIMES: readonly unknown[] = [
  0,
  -1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  "10s",
  "1000",
  null,
  true,
  1_000n,
  {},
];

for (const ttlMs of [...BAD_TIMES, 1, 99, 86_400_001, 2 ** 31]) {
  test(`ttlMs ${inspect(ttlMs)} is INVALID before any I/O`, async () => {
    const { clock, host, client } = bench();
    const options = { ttlMs } as AcquireOptions;
    await assert.rejects(client.acquire("k", options), leaseError("INVALID", { reason: "ttlMs" }));
    const lease = await within(clock, 20, client.acquire("k"));
    const bad = { ttlMs } as { ttlMs: number };
    await assert.rejects(lease.renew(bad), leaseError("INVALID", { reason: "ttlMs" }));
    await assert.rejects(lease.transfer("x", bad), leaseError("INVALID", { reason: "ttlMs" }));
    assert.equal(lease.held, true);
    assert.equal(host.requests.length, 1);
  });
}

for (const ttlMs of [100, 999, 1_000, 1_500, 86_400_000]) {
  test(`ttlMs ${ttlMs} reaches the host as it is`, async () => {
    const { clock, host, client } = bench({ latencyMs: 2 });
    await within(clock, 20, client.acquire("k", { ttlMs }));
    assert.equal(host.requests[0]?.request.ttlMs, ttlMs);
  });
}

for (const waitMs of [...BAD_TIMES.slice(1), 86_400_001]) {
  test(`waitMs ${inspect(waitMs)} is INVALID before any I/O`, async () => {
    const { host, client } = bench();
    const options = { waitMs } as AcquireOptions;
    await assert.rejects(client.acquire("k", options), leaseError("INVALID", { reason: "waitMs" }));
    assert.equal(host.requests.length, 0);
  });
}

for (const text of ["", "\ud800", "a\udc00b", "k".repeat(10_000), 5, null, {}, Symbol("k")]) {
  test(`the text ${inspect(text).slice(0, 20)} is INVALID as key and as holder`, async () => {
    const { clock, host, client } = bench();
    const bad = text as string;
    await assert.rejects(client.acquire(bad), leaseError("INVALID", { reason: "key" }));
    await assert.rejects(client.inspect(bad), leaseError("INVALID", { reason: "key" }));
    await assert.rejects(client.revoke(bad), leaseError("INVALID", { reason: "key" }));
    const acquired = client.acquire("k", { holder: bad });
    await assert.rejects(acquired, leaseError("INVALID", { reason: "holder" }));
    assert.equal(host.requests.length, 0);
    const lease = await within(clock, 20, client.acquire("k"));
    await assert.rejects(lease.transfer(bad), leaseError("INVALID", { reason: "toHolder" }));
    assert.equal(lease.held, true);
  });
}

for (const text of ["café", "cafe\u0301", "ключ🔒", "\0x", 'a"b\\c\n', "{}", " "]) {
  test(`the text ${inspect(text)} is kept as it is, as key and as holder`, async () => {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire(text, { holder: text }));
    assert.equal(lease.key, text);
    assert.equal(host.requests[0]?.request.key, text);
    assert.equal(host.requests[0]?.request.holder, text);
    assert.equal((await within(clock, 20, client.inspect(text)))?.holders[0]?.holder, text);
  });
}

test("keys that differ only in Unicode form are different keys", async () => {
  const { clock, client } = bench();
  await within(clock, 20, client.acquire("café"));
  assert.ok(await within(clock, 20, client.tryAcquire("cafe\u0301")));
});

for (const holder of ["12345", "1e3", "true", "null", "{}", "12345678901234567890"]) {
  test(`the holder ${holder} stays text`, async () => {
    const { clock, client, rival } = bench();
    const lease = await within(clock, 20, client.acquire("k", { holder }));
    assert.equal(lease.holder, holder);
    const held = rival().acquire("k", { waitMs: 0 });
    await assert.rejects(within(clock, 20, held), leaseError("HELD", { holder }));
  });
}

/** A host that grants whatever is asked for, with these fields in its answer. */
function granting(fields: Partial<WireResponse>) {
  const { clock, host } = bench();
  const sent: string[] = [];
  const granting: LeaseBackend = {
    capabilities: host.capabilities,
    call: async ({ operation, lease, ttlMs }) => {
      sent.push(operation);
      return { v: 1, outcome: "granted", fence: "1", lease, ttlMs, ...fields } as WireResponse;
    },
  };
  return { clock, sent, client: new LeaseClient(granting, { clock }) };
}

test("a fence is exact beyond 2^53", async () => {
  const fence = "9007199254740993";
  const { clock, client } = granting({ fence });
  const lease = await within(clock, 20, client.acquire("k"));
  assert.equal(lease.fence, 9_007_199_254_740_993n);
  assert.equal(lease.toJSON().fence, fence);
});

for (const [name, impossible] of [
  ["another lease", { lease: "0".repeat(32) }],
  ["fence 0", { fence: "0" }],
  ["a term longer than the one asked for", { ttlMs: 30_001 }],
  ["a huge term", { ttlMs: Number.MAX_SAFE_INTEGER }],
] as const) {
  test(`a grant that no host can have given is not believed: ${name}`, async () => {
    const { clock, sent, client } = granting(impossible);
    const options = { ttlMs: 30_000, waitMs: 0 };
    const refused = leaseError("UNAVAILABLE", { reason: "unreadable-answer" });
    await assert.rejects(within(clock, 20, client.acquire("k", options)), refused);
    assert.deepEqual(sent, ["acquire", "cancel"]);
    await clock.advance(10_000);
    assert.equal(clock.timers, 0);
  });
}

for (const [name, options, reason] of [
  ["t1 0", { renewal: { t1: 0 } }, "renewal.t1"],
  ["t1 NaN", { renewal: { t1: Number.NaN } }, "renewal.t1"],
  ["t1 after jeopardy", { renewal: { t1: 0.7 } }, "renewal"],
  ["t2 before t1", { renewal: { t1: 0.5, t2: 0.4 } }, "renewal"],
  ["an unknown renew", { renew: "sometimes" }, "renew"],
] as const) {
  test(`${name} is INVALID, with a signal that has aborted as well`, async () => {
    const { host, client } = bench();
    for (const signal of [undefined, AbortSignal.abort()]) {
      const acquired = client.acquire("k", { ...options, signal } as AcquireOptions);
      await assert.rejects(acquired, leaseError("INVALID", { reason }));
    }
    assert.equal(host.requests.length, 0);
    assert.deepEqual(await client.close(), { released: [], unconfirmed: [] });
  });
}

test("errors tell the key and no secret", async () => {
  const { clock, host, client, rival } = bench();
  const holder = "alice@example.com";
  const lease = await within(clock, 20, client.acquire("order:42", { holder, ttlMs: 1_000 }));
  const errors: unknown[] = [];
  await within(
    clock,
    20,
    rival()
      .acquire("order:42", { waitMs: 0 })
      .catch((error) => errors.push(error)),
  );
  host.always("*", { answer: { error: new Error("down") } });
  await clock.advance(2_000);
  errors.push(lease.signal.reason);
  for (const error of errors) {
    const shown = `${error} ${inspect(error)} ${JSON.stringify(error)}`;
    assert.ok(shown.includes("order:42"));
    assert.ok(!shown.includes(holder));
    for (const { request } of host.requests) {
      assert.ok(!shown.includes(request.op));
      assert.ok(request.lease === undefined || !shown.includes(request.lease));
    }
  }
  for (const object of [lease, client]) {
    const shown = `${object} ${inspect(object, { depth: 9, showHidden: true })}`;
    assert.ok(!shown.includes(host.of("acquire")[0]?.request.lease ?? ""));
    assert.ok(!shown.includes(holder));
  }
});

test("what is printed of a lease says what it is", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("order:42"));
  const shown = inspect({ lease }, { depth: 9 });
  for (const part of ["Lease", "order:42", String(lease.fence), "held"]) {
    assert.ok(shown.includes(part), shown);
  }
});

for (const value of [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  () => 1,
  Symbol("s"),
  new Map([["a", 1]]),
  new Set([1]),
  /a/,
  Promise.resolve(1),
  10n,
]) {
  test(`${inspect(value)}, which JSON can't say, is INVALID as an entry and as a result`, async () => {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire("k"));
    for (const odd of [value, [value], { nested: { value } }] as never[]) {
      await assert.rejects(lease.setEntry("e", odd), leaseError("INVALID", { reason: "value" }));
      const finished = lease.finish({ result: odd, keepMs: 60_000 });
      await assert.rejects(finished, leaseError("INVALID", { reason: "result" }));
    }
    assert.equal(host.requests.length, 1);
  });
}

test("what has a JSON of its own, and fields of a class, are taken as JSON says them", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  class Point {
    x = 1;
    gone = undefined;
  }
  const value = { at: new Date(0), point: new Point(), none: {}, list: [] } as never;
  await within(clock, 20, lease.setEntry("e", value));
  const [told] = (await within(clock, 20, client.inspect("k")))?.holders ?? [];
  const expected = { at: "1970-01-01T00:00:00.000Z", point: { x: 1 }, none: {}, list: [] };
  assert.deepEqual(told?.entries, { e: expected });
});
