/** Handlers that are cut short, stream on, or carry a lease from one invocation to the next. */

import { env } from "cloudflare:workers";
import { LeaseClient, LeaseError, type LeaseHandle } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";

export { LeaseHost } from "leasehold/host";

/** Made once for the isolate, as a module-scope client is. */
const leases = new LeaseClient(durableObject((env as { LEASES: LeaseNamespace }).LEASES));

const handlers: Record<string, (key: string, request: Request) => Promise<Response>> = {
  /** Its client goes in mid-work. The local runtime does not tell, so the abort is made here. */
  async disconnected(key) {
    const gone = new AbortController();
    const { signal } = gone;
    const work = leases.run(key, { ttlMs: 30_000, signal }, async (lease) => {
      const stop = AbortSignal.any([signal, lease.signal]);
      gone.abort(new Error("client gone"));
      await scheduler.wait(60_000, { signal: stop });
      return "unreachable";
    });
    const outcome = await work.catch((error: Error) => error.message);
    return Response.json({ outcome });
  },
  /** Answers at once and goes on writing the body under the lease, which ends with the stream. */
  async stream(key) {
    const lease = await leases.acquire(key, { ttlMs: 500 });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const write = async () => {
      await using _ = lease;
      const writer = writable.getWriter();
      try {
        for (let part = 1; part <= 4; part += 1) {
          await scheduler.wait(300, { signal: lease.signal });
          await lease.verify();
          await writer.write(new TextEncoder().encode(`part ${part} under ${lease.fence}\n`));
        }
        await writer.close();
      } catch (error) {
        await writer.abort(error);
      }
    };
    void write();
    return new Response(readable);
  },
  /** The first step of a job: takes the lease and leaves it to the next. */
  async begin(key) {
    const lease = await leases.acquire(key, { ttlMs: 2_000 });
    return Response.json({ fence: String(lease.fence), handle: lease.detach() });
  },
  /** A later step, which may run again after it was cut off. */
  async step(key, request) {
    const lease = await resumeOrAcquire(key, (await request.json()) as LeaseHandle);
    return Response.json({ fence: String(lease.fence), handle: lease.detach() });
  },
  /** The last step. */
  async finish(key, request) {
    await using lease = await resumeOrAcquire(key, (await request.json()) as LeaseHandle);
    return Response.json({ fence: String(lease.fence) });
  },
  async inspect(key) {
    return Response.json({ held: (await leases.inspect(key)) !== undefined });
  },
};

/**
 * A handle is good once. Who runs a step again finds it used, and waits for the lease of the run
 * that was cut off to end: nobody renews it.
 */
async function resumeOrAcquire(key: string, handle: LeaseHandle) {
  try {
    return await leases.resume(handle);
  } catch (error) {
    if (LeaseError.is(error) && error.code === "LOST") {
      return await leases.acquire(key, { ttlMs: handle.ttlMs, waitMs: handle.ttlMs * 2 });
    }
    throw error;
  }
}

export default {
  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const handler = handlers[pathname.slice(1)];
    try {
      return (
        (await handler?.(searchParams.get("key") ?? "", request)) ??
        new Response("no such handler", { status: 404 })
      );
    } catch (error) {
      return Response.json({ error: String(error) }, { status: 500 });
    }
  },
};
