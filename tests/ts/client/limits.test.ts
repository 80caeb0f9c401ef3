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
};

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

test("a release that is told a bad limit says so, and releases all the same", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const released = lease.release({ timeoutMs: -1 });
  await assert.rejects(released, leaseError("INVALID", { reason: "timeoutMs" }));
  await clock.advance(20);
  assert.equal(host.of("release").length, 1);
  assert.equal(await within(clock, 20, client.inspect("k")), undefined);
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
