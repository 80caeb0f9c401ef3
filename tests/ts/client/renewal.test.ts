import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { test } from "node:test";
import { BackendError, LeaseClient, systemClock } from "leasehold";
import { memory } from "leasehold/memory";
import { bench, follow, leaseError, within } from "../support/bench.ts";

test("renewals run again for a key that was lost before", async () => {
  const { clock, host, client } = bench();
  const first = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.always("renew", { deliver: 0 });
  await clock.advance(1_100);
  assert.equal(first.state, "lost");
  host.restore("renew");
  const second = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(3_000);
  assert.equal(second.held, true);
});

test("two failed renewals, then well again: held throughout", async () => {
  const { clock, host, client, events } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 3_000 }));
  const failure = {
    answer: { error: new BackendError("503", { delivery: "unknown", retryAfterMs: 100 }) },
  };
  host.next("renew", failure, failure);
  await clock.advance(20_000);
  assert.equal(lease.held, true);
  assert.equal(events.filter(({ type }) => type === "renewfailed").length, 2);
});

test("a long wait keeps nothing but its one attempt and one timer", async () => {
  const { clock, host, client, rival } = bench();
  await within(clock, 20, rival().acquire("k", { ttlMs: 86_400_000, renew: "manual" }));
  const acquired = follow(client.acquire("k", { waitMs: 3_600_000 }));
  await clock.advance(60_000);
  const before = clock.timers;
  await clock.advance(1_000_000);
  assert.equal(acquired().status, "pending");
  assert.equal(clock.timers, before);
  const gaps = host.of("acquire").map(({ atMs }, index, all) => atMs - (all[index - 1]?.atMs ?? 0));
  // Until the host has said "queued", a silent attempt is repeated with growing patience.
  const patient = gaps.slice(4);
  assert.ok(
    patient.length > 10 && patient.every((gap) => gap >= 10_000),
    "a poll keeps its place for seconds",
  );
});

test("nobody listens, nobody awaits: no rejection goes unhandled", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const { clock, host, client } = bench();
    const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
    host.always("*", { answer: { error: new Error("down") } });
    void lease.renew();
    void lease.verify();
    await clock.advance(200);
    void lease.transfer("x");
    void lease.renew();
    clock.block(2_000);
    await clock.advance(20_000);
    void lease.renew();
    void lease.verify();
    void lease.transfer("x");
    await clock.settle();
    assert.deepEqual(unhandled, []);
    assert.equal(clock.timers, 0);
  } finally {
    process.off("unhandledRejection", note);
  }
});

test("with the host down, few attempts with growing gaps fill the term", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 30_000 }));
  host.always("renew", { answer: { error: new Error("down") } });
  await clock.advance(30_000);
  assert.equal(lease.state, "lost");
  const at = host.of("renew").map(({ atMs }) => atMs);
  assert.equal(at.length, 10);
  const gaps = at.slice(1).map((ms, index) => ms - (at[index] ?? 0));
  const [first = 0, last = 0] = [gaps.at(0), gaps.at(-1)];
  assert.ok(first >= 300 && last >= 6 * first, String(gaps));
  // The last one can be answered before 29,190 ms, the end of the term.
  const latest = at.at(-1) ?? 0;
  assert.ok(latest > 29_050 && latest <= 29_170, String(at));
});

for (const ttlMs of [100, 1_000, 1_250, 30_000]) {
  test(`a healthy host gets at most 4 renewals per term of ${ttlMs} ms`, async () => {
    const { clock, host, client } = bench({ latencyMs: 2 });
    const lease = await within(clock, 20, client.acquire("k", { ttlMs }));
    await clock.advance(ttlMs * 10);
    assert.equal(lease.held, true);
    assert.ok(host.of("renew").length <= 40, String(host.of("renew").length));
  });
}

test("a second lease on the key, then release: no timer is left", async () => {
  const { clock, client } = bench();
  const first = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  const second = follow(client.acquire("k", { ttlMs: 1_000 }));
  await clock.advance(500);
  void first.release();
  await clock.advance(50);
  const outcome = second();
  assert.ok(outcome.status === "fulfilled");
  await within(clock, 20, outcome.value.release());
  assert.equal(clock.timers, 0);
});

test("one failed renewal, then a healthy host: held for long", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  host.next("renew", { answer: { error: new Error("reset") } });
  await clock.advance(10_000);
  assert.equal(lease.held, true);
});

test("renew: manual renews only when told", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000, renew: "manual" }));
  await clock.advance(600);
  assert.equal(host.of("renew").length, 0);
  await within(clock, 20, lease.renew());
  assert.ok(lease.remainingMs() > 850);
  await clock.advance(1_000);
  assert.equal(lease.held, false);
});

test("renew({ ttlMs }) changes the length of this and later terms", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 1_000 }));
  await within(clock, 20, lease.renew({ ttlMs: 60_000 }));
  assert.ok(lease.remainingMs() > 58_000);
  await clock.advance(30_000);
  assert.equal(host.of("renew").at(-1)?.request.ttlMs, 60_000);
});

test("renewals asked for at once are no more than two requests, and all settle", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const all = Promise.all([lease.renew(), lease.renew(), lease.renew()]);
  await within(clock, 60, all);
  assert.ok(host.of("renew").length <= 2);
});

test("a verify asked for while another is under way gets an answer of its own", async () => {
  const { clock, host, client } = bench();
  const lease = await within(clock, 20, client.acquire("k"));
  const first = follow(lease.verify());
  await clock.advance(15);
  const [second, third] = [follow(lease.verify()), follow(lease.verify())];
  await clock.advance(5);
  assert.equal(first().status, "fulfilled");
  assert.equal(second().status, "pending");
  await clock.advance(20);
  assert.equal(second().status, "fulfilled");
  assert.equal(third().status, "fulfilled");
  assert.equal(host.of("verify").length, 2);
});

test("t2 asks for a rebuilt way to the host", async () => {
  const { clock, host, client } = bench();
  const renewal = { t1: 0.25, t2: 0.6 };
  await within(clock, 20, client.acquire("k", { ttlMs: 10_000, renewal }));
  host.always("renew", { answer: { error: new Error("down") } });
  await clock.advance(9_900);
  const rebinds = host.of("renew").map(({ atMs, options }) => [atMs >= 6_000, options.rebind]);
  assert.ok(rebinds.length >= 3);
  assert.ok(rebinds.every(([late, rebind]) => late === rebind));
});

const PROGRAM = `
  import { LeaseClient } from "leasehold";
  import { memory } from "leasehold/memory";
  const options = JSON.parse(process.argv[1]);
  const client = new LeaseClient(memory(), options);
  await client.acquire("k", { ttlMs: 3_000 });
  console.log("held");
`;

for (const [keepProcessAlive, exits] of [
  [false, true],
  [true, false],
]) {
  test(`a held lease ${exits ? "lets" : "does not let"} the process end with keepProcessAlive ${keepProcessAlive}`, async () => {
    const args = ["--input-type=module", "-e", PROGRAM, JSON.stringify({ keepProcessAlive })];
    const child = spawn(process.execPath, args, {
      cwd: new URL("../../..", import.meta.url),
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const ended = await Promise.race([
      new Promise((resolve) => child.once("exit", () => resolve(true))),
      new Promise((resolve) => setTimeout(resolve, 1_000, false)),
    ]);
    child.kill("SIGKILL");
    assert.equal(ended, exits);
  });
}

test("where timers are numbers, nothing is called on them", async () => {
  const timers = new Map<number, NodeJS.Timeout>();
  const clock = {
    ...systemClock,
    setTimeout(callback: () => void, ms: number) {
      timers.set(timers.size + 1, setTimeout(callback, ms));
      return timers.size;
    },
    clearTimeout(timer: unknown) {
      clearTimeout(timers.get(timer as number));
    },
  };
  const client = new LeaseClient(memory({ clock }), { clock });
  const lease = await client.acquire("k");
  assert.equal(lease.held, true);
  assert.deepEqual(await lease.release(), { released: true });
});

test("a host that asks to be left alone is left alone", async () => {
  const { clock, host, client } = bench();
  const busy = new BackendError("overloaded", { delivery: "unknown", retryAfterMs: 2_000 });
  host.next("acquire", { answer: { error: busy } });
  await within(clock, 3_000, client.acquire("k"));
  const [first, second] = host.of("acquire").map(({ atMs }) => atMs);
  assert.ok((second ?? 0) - (first ?? 0) >= 1_800);
});

test("DENIED ends an acquire at once", async () => {
  const { clock, host, client } = bench();
  const denied = { code: "DENIED", reason: "bad-token", message: "Unknown token." };
  host.always("acquire", { answer: { response: { v: 1, outcome: "refused", ...denied } } });
  const acquired = client.acquire("k", { waitMs: 60_000 });
  await assert.rejects(within(clock, 20, acquired), leaseError("DENIED", { reason: "bad-token" }));
});
