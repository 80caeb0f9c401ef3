/** What an error says: who awaited it, what it is, and for how long the key is taken. */

import assert from "node:assert/strict";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { inspect } from "node:util";
import { BackendError, LeaseClient, LeaseError } from "leasehold";
import { memory } from "leasehold/memory";
import { bench, follow, leaseError, within } from "../support/bench.ts";

/** A second copy of the package, as another bundle has it. */
const folder = await mkdtemp(join(tmpdir(), "leasehold-copy-"));
await cp(new URL("../../../pkg/dist/default", import.meta.url), folder, { recursive: true });
await writeFile(join(folder, "package.json"), '{ "type": "module" }');
const copy = (await import(
  pathToFileURL(join(folder, "index.js")).href
)) as typeof import("leasehold");
after(() => rm(folder, { recursive: true }));

test("the caller is in the stack of whatever a call rejects with", async () => {
  const { clock, host, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("held"));
  const other = rival();
  host.always("*", { deliver: 0, answer: { error: new Error("down") } });
  const calls: Record<string, () => Promise<unknown>> = {
    held: async () => await other.acquire("held", { waitMs: 0 }),
    timeout: async () => await other.acquire("held", { waitMs: 100 }),
    unavailable: async () => await client.acquire("k", { waitMs: 0 }),
    tried: async () => await client.tryAcquire("k"),
    run: async () => await client.run("k", { waitMs: 0 }, () => {}),
    inspected: async () => await client.inspect("k"),
    revoked: async () => await client.revoke("k"),
    verified: async () => await lease.verify(),
    renewed: async () => await lease.renew(),
    transferred: async () => await lease.transfer("next"),
    invalid: async () => await client.acquire(""),
  };
  for (const [name, call] of Object.entries(calls)) {
    // The function that awaits is named by the table.
    const outcome = follow(call());
    await clock.advance(6_000);
    const standing = outcome();
    assert.ok(standing.status === "rejected" && LeaseError.is(standing.reason), name);
    const { stack = "" } = standing.reason;
    assert.ok(stack.includes(`${name} (`) && stack.includes("told.test.ts"), stack);
    assert.ok(stack.startsWith(`LeaseError: ${standing.reason.message}`), stack);
  }
  assert.throws(
    () => lease.check(),
    (error: Error) => error.stack?.includes("told.test.ts") === true,
  );
});

test("errors of another copy of the package are known as what they are", async () => {
  assert.ok(!(new copy.LeaseError("HELD", "held") instanceof LeaseError));
  assert.ok(LeaseError.is(new copy.LeaseError("HELD", "held")));
  assert.ok(BackendError.is(new copy.BackendError("no")));
  assert.ok(!LeaseError.is(new copy.BackendError("no")));
  assert.ok(!LeaseError.is({ name: "LeaseError", code: "HELD" }));

  const { clock, host, client } = bench();
  const never = new copy.BackendError("not sent", { delivery: "never" });
  host.next("acquire", { deliver: 0, answer: { error: never } });
  await assert.rejects(
    within(clock, 20, client.acquire("k", { waitMs: 0 })),
    leaseError("UNAVAILABLE"),
  );
  assert.equal(host.of("cancel").length, 0, "what was never delivered need not be taken back");
});

test("an acquire of another copy's client is told apart by tryAcquire", async () => {
  const { clock, host, client } = bench();
  const response = { v: 1, outcome: "held", retryAfterMs: 5 };
  host.always("acquire", { answer: { response } });
  assert.equal(await within(clock, 20, client.tryAcquire("k")), undefined);
});

test("a key that this very client holds is told as such, with the time that is left", async () => {
  const { clock, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 30_000, renew: "manual" }));
  await clock.advance(980);
  const own = client.acquire("k", { waitMs: 0 });
  await assert.rejects(within(clock, 20, own), (error: LeaseError) => {
    leaseError("HELD", { reason: "own-lease" })(error);
    assert.match(error.message, /held by this very client/);
    assert.ok((error.retryAfterMs ?? 0) > 28_000 && (error.retryAfterMs ?? 0) <= 29_000);
    return true;
  });
  for (const [leases, reason] of [
    [client, "own-lease"],
    [rival(), "held-by-another"],
  ] as const) {
    const waited = leases.acquire("k", { waitMs: 1_000 });
    await assert.rejects(within(clock, 1_100, waited), (error: LeaseError) => {
      leaseError("TIMEOUT", { reason })(error);
      assert.ok((error.retryAfterMs ?? 0) > 25_000, `${error.retryAfterMs}`);
      return true;
    });
  }
  const another = client.acquire("other", { waitMs: 0 });
  assert.ok(await within(clock, 20, another));
  await within(clock, 20, lease.release());
});

test("a lease that is cloned or posted says that it can't be", async () => {
  const lease = await new LeaseClient(memory()).acquire("k");
  const { port1, port2 } = new MessageChannel();
  try {
    for (const pass of [() => structuredClone(lease), () => port1.postMessage({ lease })]) {
      assert.throws(pass, (error: LeaseError) => {
        leaseError("INVALID", { reason: "lease" })(error);
        assert.match(error.message, /pass what lease\.detach\(\) returns/);
        return true;
      });
    }
    assert.deepEqual(structuredClone(lease.detach()).key, "k");
  } finally {
    port1.close();
    port2.close();
  }
});

test("a lease in JSON or on the console shows no credential, and no public property has it", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { holder: "anna" }));
  const id = String(host.of("acquire")[0]?.request.lease);
  assert.match(id, /^[0-9a-f]{32}$/);
  const remainingMs = lease.remainingMs();
  assert.deepEqual(JSON.parse(JSON.stringify({ lease })), {
    lease: { key: "k", fence: String(lease.fence), slot: 0, state: "held", remainingMs },
  });
  for (const hidden of [false, true]) {
    assert.ok(!inspect(lease, { depth: 9, showHidden: hidden, getters: false }).includes(id));
  }
  const properties = Object.keys(Object.getOwnPropertyDescriptors(Object.getPrototypeOf(lease)));
  for (const name of properties) {
    assert.ok(!String(Reflect.get(lease, name)).includes(id), name);
  }
  assert.equal(lease.detach().id, id, "only there");
});

for (const [how, onEvent] of [
  [
    "throws",
    () => {
      throw new Error("of the listener");
    },
  ],
  ["rejects", () => Promise.reject(new Error("of the listener"))],
] as const) {
  test(`what a listener of the client's events ${how} goes to the console, and nowhere else`, async (t) => {
    const told = t.mock.method(console, "error", () => {});
    const { clock, client } = bench({ onEvent });
    const lease = await within(clock, 20, client.acquire("k"));
    assert.deepEqual(await within(clock, 20, lease.release()), { released: true });
    assert.equal(told.mock.callCount(), 2);
    for (const { arguments: words } of told.mock.calls) {
      assert.match(String(words[1]), /of the listener/);
    }
  });
}

test("that there was no answer is told in one sentence, with the key and the reason", async () => {
  const { clock, host, client } = bench();
  host.always("*", { deliver: 0, answer: "never" });
  const asked = client.inspect("k", { timeoutMs: 300 });
  await assert.rejects(within(clock, 300, asked), {
    message: 'The lease on "k" (no-answer): No answer came in time.',
  });
});
