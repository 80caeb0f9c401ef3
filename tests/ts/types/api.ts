/** Checked by the compiler alone: what the API's types allow, and what they don't. */

import {
  type AcquireOptions,
  type CallOptions,
  type Capabilities,
  Lease,
  type LeaseBackend,
  LeaseClient,
  type LeaseError,
  type LeaseErrorCode,
  type LeaseEvent,
  type LeaseHandle,
  type LeaseInfo,
  type LeaseState,
  type LeaseSummary,
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

  const info = await client.inspect("k");
  is<Equal<typeof info, LeaseInfo | undefined>>();
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
    case "released":
      return event.key;
    case "failed":
      return String(event.error);
  }
}

export function advise(error: LeaseError): string {
  const advice: Record<LeaseErrorCode, string> = {
    DENIED: "mend the token",
    HELD: `wait ${error.retryAfterMs}`,
    INVALID: "mend the call",
    LOST: "stop",
    TIMEOUT: "wait longer",
    UNAVAILABLE: "try again",
  };
  return advice[error.code];
}
