import { LeaseClient, LeaseError } from "leasehold";
import { upstashFromEnv } from "leasehold/upstash";

/**
 * `POST /api/ship?order=42`: ships an order, one invocation at a time, however often this is
 * called. The database's URL and token are in the environment once it is connected to the project.
 */
export async function POST(request: Request): Promise<Response> {
  const order = new URL(request.url).searchParams.get("order");
  if (!order) return Response.json({ error: "which order?" }, { status: 400 });

  const leases = new LeaseClient(upstashFromEnv());
  try {
    const fence = await leases.run(
      `order:${order}`,
      { ttlMs: 10_000, waitMs: 5_000, signal: request.signal },
      async (lease) => {
        await ship(order, lease.fence, lease.signal);
        return lease.fence;
      },
    );
    return Response.json({ order, fence: String(fence) });
  } catch (error) {
    if (!LeaseError.is(error)) throw error;
    const isBusy = error.code === "TIMEOUT" || error.code === "LOST";
    return Response.json(
      { code: error.code, reason: error.reason },
      { status: isBusy ? 409 : 503 },
    );
  }
}

/** The ledger refuses a fence below the highest it has seen: that is what makes it safe. */
async function ship(order: string, fence: bigint, signal: AbortSignal): Promise<void> {
  const response = await fetch(new URL(`/orders/${order}`, process.env.LEDGER_URL), {
    method: "PUT",
    headers: { "x-fence": String(fence) },
    signal,
  });
  if (!response.ok) throw new Error(`the ledger answered ${response.status}`);
}
