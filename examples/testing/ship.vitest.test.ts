import { testLeases } from "leasehold/testing";
import { expect, test } from "vitest";
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
  expect(await ship(leases, "42", send)).toBe("shipped");
  expect(await ship(leases, "42", send)).toBe("shipped");
  expect(fences[1]).toBeGreaterThan(fences[0] ?? 0n);
});

test("while somebody else has the order, we wait for 5 s and no longer", async () => {
  const { leases, clock, hold } = testLeases();
  await hold("order:42");
  const outcome = ship(leases, "42", () => expect.unreachable("it is not ours to send"));
  await clock.advance(5_000);
  expect(await outcome).toBe("busy");
});

test("a lease that is taken away stops the work", async () => {
  const { leases, clock, lose } = testLeases();
  const outcome = ship(leases, "42", untilStopped);
  await clock.settle();
  const [lease] = leases.heldLeases;
  if (lease !== undefined) await lose(lease);
  expect(await outcome).toBe("given up");
});

test("a host that falls silent stops the work before the term of 30 s is over", async () => {
  const { leases, clock, host } = testLeases();
  host.always("renew", { answer: "never" });
  const outcome = ship(leases, "42", untilStopped);
  await clock.advance(30_000);
  expect(await outcome).toBe("given up");
});

test("a slow host delays the work and does no more harm", async () => {
  const { leases, clock } = testLeases({ latencyMs: 1_500 });
  const outcome = ship(leases, "42", async () => {});
  await clock.advance(10_000);
  expect(await outcome).toBe("shipped");
});
