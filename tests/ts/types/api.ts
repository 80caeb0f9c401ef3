/** Checked by the compiler alone: what the API's types allow, and what they don't. */

import {
  type AcquireOptions,
  type CallOptions,
  type Capabilities,
  type KeyState,
  Lease,
  type LeaseBackend,
  LeaseClient,
  type LeaseError,
  type LeaseErrorCode,
  type LeaseEvent,
  type LeaseHandle,
  type LeaseSet,
  type LeaseState,
  type LeaseSummary,
  type NamedAnswer,
  type Released,
  type WireRequest,
  type WireResponse,
} from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { ScriptedBackend, TestClock } from "leasehold/testing";

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

function is<_Check extends true>(): void {}

class Own implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "best-effort",
    fencing: "durable",
    waiting: "poll",
    survives: "nothing",
  };
  call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    return memory().call(request, options);
  }
}

const hosts: LeaseBackend[] = [
  new Own(),
  memory(),
  http({ url: "https://leases.example.com", token: "t" }),
  durableObject({ idFromName: (name: string) => name, get: (_id: string) => ({}) }),
  new ScriptedBackend(memory(), { clock: new TestClock() }),
];

export async function use(client = new LeaseClient(hosts[0] ?? memory())): Promise<void> {
  await using lease = await client.acquire("k");
  is<Equal<typeof lease, Lease>>();
  is<Equal<typeof lease.fence, bigint>>();
  is<Equal<typeof lease.signal, AbortSignal>>();
  is<Equal<typeof lease.state, LeaseState>>();
  is<Equal<ReturnType<typeof lease.toJSON>, LeaseSummary>>();
  is<Equal<ReturnType<typeof lease.detach>, LeaseHandle>>();

  const maybe = await client.tryAcquire("k");
  is<Equal<typeof maybe, Lease | undefined>>();

  const sync = await client.run("k", (held) => held.fence);
  is<Equal<typeof sync, bigint>>();
  const async = await client.run("k", { waitMs: 0 }, async () => "text");
  is<Equal<typeof async, string>>();

  await using set = await client.acquireAll(["a", "b"], { waitMs: 0 });
  is<Equal<typeof set, LeaseSet>>();
  const both = await client.runAll(["a", "b"], async ({ leases }) => leases.length);
  is<Equal<typeof both, number>>();
  // @ts-expect-error: a text is no list of keys
  await client.acquireAll("ab");

  const info = await client.inspect("k");
  is<Equal<typeof info, KeyState | undefined>>();
  is<Equal<KeyState["holders"][number]["fence"], bigint>>();
  for await (const state of client.watch("k", { after: "0", signal: lease.signal })) {
    is<Equal<typeof state, KeyState>>();
  }
  for await (const state of client.list({ prefix: "order:" })) {
    is<Equal<typeof state, KeyState>>();
  }
  const revoked = await client.revoke("k", { fence: lease.fence });
  is<Equal<typeof revoked, boolean>>();

  const kept = await client.runOnce("k", { keepMs: 60_000 }, async ({ fence }) => String(fence));
  is<Equal<typeof kept, string>>();
  const nothing = await client.runOnce("k", { keepMs: 60_000 }, () => {});
  is<Equal<typeof nothing, null>>();
  // @ts-expect-error: JSON has no bigint
  await client.runOnce("k", { keepMs: 60_000 }, ({ fence }) => fence);
  // @ts-expect-error: a result is kept for some time
  await client.runOnce("k", {}, () => 1);
  await lease.setEntry("progress", { done: 3, of: 7 });
  await lease.deleteEntry("progress");
  await lease.finish({ result: [1, "two", null], keepMs: 60_000 });
  const readers = await client.acquire("k", { mode: "shared", steal: true, maxHoldMs: 60_000 });
  is<Equal<typeof readers.slot, number>>();
  const named = client.named({ secret: "0123456789abcdef" });
  const answer = await named.acquire("k", "owner", { ttlMs: 1_000 });
  is<Equal<typeof answer, NamedAnswer>>();
  const other: string | undefined = answer.granted ? "owner" : answer.owner;
  await named.release("k", other ?? "", answer.granted ? { fence: answer.fence } : {});

  is<Equal<typeof client.heldLeases, readonly Lease[]>>();

  lease.addEventListener("renewed", ({ remainingMs }) => {
    is<Equal<typeof remainingMs, number>>();
  });
  lease.addEventListener("lost", ({ error }) => {
    is<Equal<typeof error, LeaseError>>();
  });
  lease.addEventListener("anything", () => {}, { once: true });
  const target: EventTarget = lease;
  const disposable: AsyncDisposable = lease;
  void [target, disposable];

  const resumed: Lease = await client.resume(lease.detach());
  const handle: LeaseHandle = await resumed.transfer("next", { ttlMs: 1_000 });
  void handle;

  const { unconfirmed }: Released = await client.close({ timeoutMs: 1_000 });
  is<Equal<typeof unconfirmed, readonly string[]>>();

  const { released, reason } = await resumed.release();
  is<Equal<typeof released, boolean>>();
  is<Equal<typeof reason, string | undefined>>();

  // @ts-expect-error: a lease is only had from a client
  new Lease();
  // @ts-expect-error: read-only
  lease.fence = 1n;
  // @ts-expect-error: milliseconds are a number
  await client.acquire("k", { ttlMs: "10s" });
  // @ts-expect-error: a handle is more than a key
  await client.resume({ key: "k" });
  // @ts-expect-error: run needs something to run
  await client.run("k", { waitMs: 0 });
  // @ts-expect-error: a token is needed
  http({ url: "https://leases.example.com" });
  // @ts-expect-error: no such way of renewing
  const options: AcquireOptions = { renew: "sometimes" };
  void options;
}

export function tell(event: LeaseEvent): string {
  switch (event.type) {
    case "queued":
      return `${event.ahead}`;
    case "granted":
    case "renewed":
    case "jeopardy":
    case "safe":
      return `${event.lease.fence} ${event.remainingMs}`;
    case "renewfailed":
    case "lost":
    case "releasefailed":
      return event.error.message;
    case "wanted":
      return `${event.waiters}`;
    case "released":
    case "finished":
      return event.key;
    case "failed":
      return String(event.error);
  }
}

export function advise(error: LeaseError): string {
  const advice: Record<LeaseErrorCode, string> = {
    DONE: `done ${error.ageMs} ms ago`,
    DENIED: "mend the token",
    HELD: `wait ${error.retryAfterMs}`,
    INVALID: "mend the call",
    LOST: "stop",
    TIMEOUT: "wait longer",
    UNAVAILABLE: "try again",
  };
  return advice[error.code];
}
