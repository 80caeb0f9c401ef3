import assert from "node:assert/strict";
import {
  LeaseClient,
  type LeaseClientOptions,
  LeaseError,
  type LeaseErrorCode,
  type LeaseEvent,
} from "leasehold";
import { memory } from "leasehold/memory";
import { ScriptedBackend, TestClock } from "leasehold/testing";

/** A client, a network that a test scripts, and an embedded host, all on one virtual clock. */
export interface Bench {
  readonly clock: TestClock;
  readonly host: ScriptedBackend;
  readonly client: LeaseClient;
  readonly events: LeaseEvent[];
  /** Another client of the same host, over the same network unless `host` says otherwise. */
  rival(options?: LeaseClientOptions): LeaseClient;
}

export function bench(options: LeaseClientOptions & { readonly latencyMs?: number } = {}): Bench {
  const { latencyMs = 10, ...clientOptions } = options;
  const clock = new TestClock();
  const server = memory({ clock });
  const host = new ScriptedBackend(server, { clock, latencyMs });
  const events: LeaseEvent[] = [];
  const client = new LeaseClient(host, {
    clock,
    onEvent: (event) => events.push(event),
    ...clientOptions,
  });
  const rival = (rivalOptions: LeaseClientOptions = {}) =>
    new LeaseClient(new ScriptedBackend(server, { clock, latencyMs }), { clock, ...rivalOptions });
  return { clock, host, client, events, rival };
}

/** A client, and the network between it and the host. */
export interface Party {
  readonly host: ScriptedBackend;
  readonly client: LeaseClient;
}

/** Clients of one embedded host, on one virtual clock, each with a network of its own. */
export function parties(
  count: number,
  latencyMs = 10,
): { readonly clock: TestClock; readonly all: readonly Party[] } {
  const clock = new TestClock();
  const server = memory({ clock });
  const all = Array.from({ length: count }, (_, index) => {
    const host = new ScriptedBackend(server, { clock, latencyMs });
    return { host, client: new LeaseClient(host, { clock, holder: `party-${index}` }) };
  });
  return { clock, all };
}

/** Time that passes on a virtual clock while somebody else moves it. */
export function pause(clock: TestClock, ms: number): Promise<void> {
  return new Promise((wake) => clock.setTimeout(wake, ms));
}

/** How a promise stands now. */
export type Standing<T> =
  | { readonly status: "pending" }
  | { readonly status: "fulfilled"; readonly value: T }
  | { readonly status: "rejected"; readonly reason: unknown };

/** Follows a promise without waiting for it. */
export function follow<T>(promise: Promise<T>): () => Standing<T> {
  let standing: Standing<T> = { status: "pending" };
  promise.then(
    (value) => {
      standing = { status: "fulfilled", value };
    },
    (reason: unknown) => {
      standing = { status: "rejected", reason };
    },
  );
  return () => standing;
}

/** The outcome of a promise that settles while `ms` milliseconds pass. */
export async function within<T>(clock: TestClock, ms: number, promise: Promise<T>): Promise<T> {
  const standing = follow(promise);
  await clock.advance(ms);
  const outcome = standing();
  if (outcome.status === "pending") {
    throw new Error(`not settled after ${ms} ms`);
  }
  return promise;
}

/** A matcher for `assert.rejects` and `assert.throws`: a LeaseError with these properties. */
export function leaseError(code: LeaseErrorCode, properties: Partial<LeaseError> = {}) {
  return (error: unknown): true => {
    assert.ok(error instanceof LeaseError, String(error));
    assert.equal(error.code, code);
    for (const [name, value] of Object.entries(properties)) {
      assert.deepEqual(error[name as keyof LeaseError], value, name);
    }
    return true;
  };
}

/** The fence of a grant that a host in memory makes so many milliseconds after a test's begin. */
export function fenceAt(ms: number): bigint {
  return BigInt(1_000_000_000_000 + ms) * 1_000n;
}
