import { LeaseClient } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { toResponse } from "leasehold/synchronized";
import type { Ledger } from "./ledger.ts";

export { LeaseHost } from "leasehold/host";
export { Ledger } from "./ledger.ts";

interface Env {
  readonly LEASES: DurableObjectNamespace;
  readonly LEDGER: DurableObjectNamespace<Ledger>;
}

export default {
  async fetch(request, env): Promise<Response> {
    const url = new URL(request.url);
    const order = url.searchParams.get("order") ?? "";
    const ledger = env.LEDGER.get(env.LEDGER.idFromName(order));

    // Ships the order: one invocation at a time, however often this is called.
    if (url.pathname === "/ship") {
      const by = url.searchParams.get("by") ?? "somebody";
      const workMs = Number(url.searchParams.get("workMs") ?? 100);
      const leases = new LeaseClient(durableObject(env.LEASES));
      const begun = Promise.withResolvers<bigint>();
      const shipped = leases.run(
        `order:${order}`,
        { ttlMs: 2_000, waitMs: 10_000, signal: request.signal },
        async (lease) => {
          const holder = { key: lease.key, fence: lease.fence };
          await ledger.takeOver(holder);
          await ledger.write(holder, `${by} began`);
          begun.resolve(lease.fence);
          await scheduler.wait(workMs, { signal: lease.signal });
          if (!(await ledger.write(holder, `${by} shipped`))) {
            throw new Error("someone newer has written");
          }
          return lease.fence;
        },
      );
      try {
        // To answer before the work is done is a mistake: the runtime then cuts the work off.
        const early = url.searchParams.has("early");
        const fence = await (early ? Promise.race([begun.promise, shipped]) : shipped);
        return Response.json({ by, fence: String(fence) }, { status: early ? 202 : 200 });
      } catch (error) {
        return toResponse(error); // 409 while another is at it, 503 while nobody could be asked
      }
    }

    // A write that comes late: from a holder that was cut off, with the fence it had.
    if (url.pathname === "/write") {
      const holder = {
        key: `order:${order}`,
        fence: BigInt(url.searchParams.get("fence") ?? "0"),
      };
      const written = await ledger.write(holder, url.searchParams.get("line") ?? "");
      return Response.json({ written }, { status: written ? 200 : 409 });
    }

    if (url.pathname === "/ledger") return Response.json(await ledger.read());
    return new Response("not found", { status: 404 });
  },
} satisfies ExportedHandler<Env>;
