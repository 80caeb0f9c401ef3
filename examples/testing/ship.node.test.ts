import assert from "node:assert/strict";
import { test } from "node:test";
import { testLeases } from "leasehold/testing";
import { ship } from "./ship.ts";

/** Work that goes on until it is stopped. */
const untilStopped = (_order: string, _fence: bigint, signal: AbortSignal) =>
  new Promise<void>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });

test("an order is shipped under a fence that only rises", async () => {
  const { leases } = testLeases();
  const fences: bigint[] = [];
  const send = async (_order: string, fence: bigint) => void fences.push(fence);
  assert.equal(await ship(leases, "42", send), "shipped");
  assert.equal(await ship(leases, "42", send), "shipped");
  assert.ok((fences[1] ?? 0n) > (fences[0] ?? 0n));
});

test("while somebody else has the order, we wait for 5 s and no longer", async () => {
  const { leases, clock, hold } = testLeases();
  await hold("order:42");
  const outcome = ship(leases, "42", () => assert.fail("it is not ours to send"));
  await clock.advance(5_000);
  assert.equal(await outcome, "busy");
});

test("a lease that is taken away stops the work", async () => {
  const { leases, clock, lose } = testLeases();
  const outcome = ship(leases, "42", untilStopped);
  await clock.settle();
  const [lease] = leases.heldLeases;
  assert.ok(lease);
  await lose(lease);
  assert.equal(await outcome, "given up");
});

test("a host that falls silent stops the work before the term of 30 s is over", async () => {
  const { leases, clock, host } = testLeases();
  host.always("renew", { answer: "never" });
  const outcome = ship(leases, "42", untilStopped);
  await clock.advance(30_000);
  assert.equal(await outcome, "given up");
});

test("a slow host delays the work and does no more harm", async () => {
  const { leases, clock } = testLeases({ latencyMs: 1_500 });
  const outcome = ship(leases, "42", async () => {});
  await clock.advance(10_000);
  assert.equal(await outcome, "shipped");
});
