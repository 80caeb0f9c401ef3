/** No call outlasts what its caller allows, whatever the host does. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { type TestContext, test } from "node:test";
import type { CallLimits, Lease, LeaseClient } from "leasehold";
import { bench, follow, leaseError, within } from "../support/bench.ts";

const SILENT = { deliver: 0, answer: "never" } as const;

for (const [waitMs, most] of [
  [1_500, 1_500],
  [10_000, 10_000],
  [50, 1_000],
  [0, 5_000],
] as const) {
  test(`an acquire with waitMs ${waitMs} ends after ${most} ms at a silent host`, async () => {
    const { clock, host, client } = bench();
    host.always("*", SILENT);
    const acquired = follow(client.acquire("k", { waitMs }));
    await clock.advance(most - 1);
    assert.equal(acquired().status, "pending");
    await clock.advance(1);
    const standing = acquired();
    assert.ok(standing.status === "rejected");
    leaseError("UNAVAILABLE", { reason: "no-answer" })(standing.reason);
    await clock.advance(20_000);
  });
}

for (const [waitMs, timeoutMs] of [
  [10_000, 300],
  [0, 300],
  [200, 7_000],
] as const) {
  test(`timeoutMs ${timeoutMs} bounds an acquire with waitMs ${waitMs}`, async () => {
    const { clock, host, client } = bench();
    host.always("*", SILENT);
    const begun = clock.now;
    const acquired = follow(client.acquire("k", { waitMs, timeoutMs }));
    while (acquired().status === "pending") await clock.advance(10);
    assert.ok(clock.now - begun <= timeoutMs + 10);
    await clock.advance(20_000);
  });
}

test("who waits for a held key is told by whom and for how long within the wait", async () => {
  const { clock, client, rival } = bench({ latencyMs: 100 });
  await within(clock, 200, rival().acquire("k", { ttlMs: 60_000, renew: "manual" }));
  for (const waitMs of [1_000, 10_000]) {
    const acquired = follow(client.acquire("k", { waitMs }));
    await clock.advance(waitMs);
    const standing = acquired();
    assert.ok(standing.status === "rejected", `${waitMs}`);
    leaseError("TIMEOUT", { reason: "held-by-another" })(standing.reason);
    assert.ok(((standing.reason as { retryAfterMs?: number }).retryAfterMs ?? 0) > 40_000);
  }
});

type Call = (lease: Lease, client: LeaseClient, limits: CallLimits) => Promise<unknown>;

const CALLS: Readonly<Record<string, Call>> = {
  inspect: (_, client, limits) => client.inspect("k", limits),
  revoke: (_, client, limits) => client.revoke("k", limits),
  verify: (lease, _, limits) => lease.verify(limits),
  renew: (lease, _, limits) => lease.renew(limits),
  transfer: (lease, _, limits) => lease.transfer("next", limits),
  resume: (lease, client, limits) => client.resume(lease.detach(), limits),
  acquire: (_, client, limits) => client.acquire("other", limits),
  tryAcquire: (_, client, limits) => client.tryAcquire("other", limits),
  run: (_, client, limits) => client.run("other", limits, () => {}),
  runOnce: (_, client, limits) => client.runOnce("other", { ...limits, keepMs: 60_000 }, () => 1),
  acquireAll: (_, client, limits) => client.acquireAll(["other", "another"], limits),
  setEntry: (lease, _, limits) => lease.setEntry("url", "x", limits),
  deleteEntry: (lease, _, limits) => lease.deleteEntry("url", limits),
  finish: (lease, _, limits) => lease.finish({ ...limits, keepMs: 60_000 }),
  watch: (_, client, limits) => through(client.watch("k", limits)),
  list: (_, client, limits) => through(client.list(limits)),
};

async function through(states: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of states);
}

for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} ends after its timeoutMs, and at once with its signal`, async () => {
    const reason = new Error("the caller went away");
    for (const end of ["time", "signal", "before"] as const) {
      const { clock, host, client } = bench();
      const lease = await within(clock, 20, client.acquire("k"));
      host.always("*", SILENT);
      const sent = host.requests.length;
      const controller = new AbortController();
      const { signal } = controller;
      if (end === "before") controller.abort(reason);
      const called = follow(call(lease, client, { timeoutMs: 300, signal }));
      await clock.advance(end === "time" ? 299 : 100);
      if (end !== "before") assert.equal(called().status, "pending", end);
      if (end === "time") await clock.advance(1);
      if (end === "signal") controller.abort(reason);
      await clock.settle();
      const standing = called();
      assert.ok(standing.status === "rejected", end);
      if (end === "time") {
        leaseError("UNAVAILABLE", { reason: "no-answer" })(standing.reason);
      } else {
        assert.equal(standing.reason, reason);
      }
      if (end === "before") assert.equal(host.requests.length, sent);
      assert.equal(getEventListeners(signal, "abort").length, 0);
      await clock.advance(60_000);
    }
  });
}

test("a release waits for the host's word no longer than it may, and never rejects", async () => {
  for (const limits of [
    { timeoutMs: 300 },
    { signal: AbortSignal.abort("gone") },
    { signal: AbortSignal.abort("gone"), timeoutMs: 1_000 },
  ]) {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire("k"));
    host.always("*", SILENT);
    const released = lease.release(limits);
    assert.equal(lease.held, false);
    assert.equal(host.of("release").length, 1);
    assert.deepEqual(await within(clock, 300, released), {
      released: false,
      reason: "unconfirmed",
    });
    await clock.advance(20_000);
    assert.equal(clock.timers, 0);
  }
});

const SECRET = "a secret of many processes";

/** Calls that ask the host more than once. */
const OF_SEVERAL: Readonly<
  Record<string, (client: LeaseClient, limits: CallLimits) => Promise<unknown>>
> = {
  "named.release": (client, limits) => client.named({ secret: SECRET }).release("k", "ada", limits),
  "named.transfer": (client, limits) =>
    client.named({ secret: SECRET }).transfer("k", "ada", "bob", limits),
  list: (client, limits) => through(client.list(limits)),
};

for (const [name, call] of Object.entries(OF_SEVERAL)) {
  test(`${name}, which asks twice, takes its timeoutMs once`, async () => {
    const { clock, host, client, rival } = bench();
    const keys = Array.from({ length: 120 }, (_, n) => `key-${n}`);
    await within(clock, 20, Promise.all(keys.map((key) => rival().acquire(key))));
    const named = follow(client.named({ secret: SECRET }).acquire("k", "ada"));
    while (named().status === "pending") await clock.advance(1);
    host.always("*", { toHostMs: 100, toClientMs: 100 });
    const sent = host.requests.length;
    const called = follow(call(client, { timeoutMs: 300 }));
    while (called().status === "pending") await clock.advance(1);
    const standing = called();
    assert.ok(standing.status === "rejected");
    leaseError("UNAVAILABLE", { reason: "no-answer" })(standing.reason);
    const [first, second, third] = host.requests.slice(sent);
    assert.ok(first && second && third === undefined);
    assert.equal(clock.now - first.atMs, 300);
  });
}

for (const [options, silenceMs] of [
  [{ timeoutMs: 300 }, 300],
  [{ timeoutMs: 1_000 }, 1_000],
  [{}, 60_000],
] as const) {
  test(`a watch ends after ${silenceMs} ms without an answer, and not while there are answers`, async () => {
    const { clock, host, client } = bench();
    const states = client.watch("k", options)[Symbol.asyncIterator]();
    await within(clock, 20, states.next());
    const next = follow(states.next());
    await clock.advance(10 * silenceMs);
    assert.equal(next().status, "pending");
    host.always("*", SILENT);
    const answered = host.of("watch").length;
    while (host.of("watch").length === answered) await clock.advance(1);
    const since = clock.now;
    while (next().status === "pending") await clock.advance(10);
    const standing = next();
    assert.ok(standing.status === "rejected");
    leaseError("UNAVAILABLE", { reason: "no-answer" })(standing.reason);
    const ms = clock.now - since;
    assert.ok(ms > 0.8 * silenceMs && ms <= silenceMs + 10, `${ms} ms`);
  });
}

test("a release that is told a bad limit says so, and gives nothing back", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  for (const [name, limits] of [
    ["timeoutMs", { timeoutMs: -1 }],
    ["timeout", { timeout: 1 }],
  ] as const) {
    // Not awaited as yet, as by code that does not look at how a release ends.
    const released = lease.release(limits as CallLimits);
    await clock.advance(20);
    await assert.rejects(released, leaseError("INVALID", { reason: name }));
  }
  assert.ok(lease.held);
  assert.equal(host.of("release").length, 0);
  assert.deepEqual(await within(clock, 20, lease.release()), { released: true });
});

test("what is handed over when nobody waits any more is taken back", async () => {
  const { clock, host, client, rival } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 60_000 }));
  host.next("transfer", { toHostMs: 100, toClientMs: 400 });
  const transferred = lease.transfer("next", { timeoutMs: 300 });
  await assert.rejects(within(clock, 300, transferred), leaseError("UNAVAILABLE"));
  assert.equal(lease.held, false);
  await clock.advance(1_000);
  assert.ok(await within(clock, 20, rival().tryAcquire("k")), "the key is free");
});

/** What a process does that ends by itself, how it ends, and how long it stays after its first word. */
async function lifetime(program: string, port: number): Promise<{ code: number; ms: number }> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, String(port)], {
    cwd: new URL("../../../", import.meta.url),
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const since = performance.now();
  const [code] = await once(child, "exit");
  return { code, ms: performance.now() - since };
}

/** A port where nobody answers: connections are refused, or taken and left alone. */
async function mutePort(t: TestContext, takesConnections: boolean): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  if (takesConnections) t.after(() => server.close());
  else await new Promise((resolve) => server.close(resolve));
  return port;
}

for (const [backend, make] of [
  ["http", `(await import("leasehold/http")).http({ url, token: "t" })`],
  ["upstash", `(await import("leasehold/upstash")).upstash({ url, token: "t" })`],
] as const) {
  const begin = `
    import { LeaseClient } from "leasehold";
    const url = "http://127.0.0.1:" + process.argv[1];
    const leases = new LeaseClient(${make});`;
  for (const takesConnections of [false, true]) {
    const name = `${backend} to a host that ${takesConnections ? "is silent" : "is not there"}`;

    test(`after an acquire that failed over ${name}, taking back keeps no process up`, async (t) => {
      const program = `${begin}
        const limits = { waitMs: 0, timeoutMs: 300 };
        await leases.acquire("k", limits).catch((error) => console.log(error.code));`;
      const { code, ms } = await lifetime(program, await mutePort(t, takesConnections));
      assert.equal(code, 0);
      assert.ok(ms < 1_500, `${ms} ms`);
    });

    test(`a close that is awaited over ${name} is waited for to its end`, async (t) => {
      const program = `${begin}
        const waiting = leases.acquire("k").catch((error) => console.log(error.reason));
        setTimeout(async () => {
          await leases.close();
          await waiting;
          process.exitCode = 7;
        }, 200);`;
      const { code, ms } = await lifetime(program, await mutePort(t, takesConnections));
      assert.equal(code, 7);
      assert.ok(ms < 11_000, `${ms} ms`);
    });
  }
}
