/** Handlers that use a client inside the Workers runtime, each in the way its test is about. */

import { env } from "cloudflare:workers";
import { LeaseClient, type LeaseError } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";

export { LeaseHost } from "leasehold/host";

/** Made once for the isolate, outside any request: it must hold nothing that belongs to one. */
const shared = new LeaseClient(durableObject((env as { LEASES: LeaseNamespace }).LEASES));

const told: string[] = [];

async function hurryBy(
  key: string,
  waitUntil: (promise: Promise<unknown>) => void,
): Promise<unknown> {
  const leases = new LeaseClient(durableObject((env as { LEASES: LeaseNamespace }).LEASES), {
    waitUntil,
  });
  const lease = await leases.acquire(key, { ttlMs: 30_000 });
  void lease.release();
  return { fence: String(lease.fence) };
}

const handlers: Record<string, (key: string, ctx: ExecutionContext) => Promise<unknown>> = {
  /** Answers while a lease is held, with nothing that keeps the invocation alive. */
  async abandon(key) {
    const lease = await shared.acquire(key, { ttlMs: 500 });
    lease.signal.addEventListener("abort", () => told.push("aborted after the response"));
    return { fence: String(lease.fence) };
  },
  /** Answers before the release is through. */
  async hurry(key) {
    const lease = await shared.acquire(key, { ttlMs: 30_000 });
    void lease.release();
    return { fence: String(lease.fence) };
  },
  /** The same, with the invocation's own `waitUntil`. */
  hurryByContext: (key, ctx) => hurryBy(key, (promise) => ctx.waitUntil(promise)),
  /** The same, with a `waitUntil` that has lost its object. */
  hurryUnbound: (key, ctx) => hurryBy(key, ctx.waitUntil),
  /** Holds for longer than a term, then tells what it saw. */
  async work(key) {
    await using lease = await shared.acquire(key, { ttlMs: 500, waitMs: 5_000 });
    await scheduler.wait(1_200);
    await lease.verify();
    return { fence: String(lease.fence), held: lease.held };
  },
  /** Has its lease revoked under it. */
  async revoked(key) {
    const lease = await shared.acquire(key, { ttlMs: 30_000 });
    await shared.revoke(key);
    const code = await lease.verify().catch((error: LeaseError) => error.code);
    return { code, aborted: lease.signal.aborted, held: lease.held };
  },
  async inspect(key) {
    const info = await shared.inspect(key);
    return { held: info !== undefined };
  },
  async told() {
    return told;
  },
};

export default {
  async fetch(request: Request, _env: unknown, ctx: ExecutionContext): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const handler = handlers[pathname.slice(1)];
    try {
      return Response.json(await handler?.(searchParams.get("key") ?? "", ctx));
    } catch (error) {
      const { code } = error as LeaseError;
      return Response.json({ code, error: String(error) }, { status: 500 });
    }
  },
};
