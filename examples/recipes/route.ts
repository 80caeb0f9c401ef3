// app/orders/[id]/ship/route.ts

import { LeaseClient } from "leasehold";
import { toResponse } from "leasehold/synchronized";
import { upstashFromEnv } from "leasehold/upstash";

const leases = new LeaseClient(upstashFromEnv());

interface Context {
  readonly params: Promise<{ readonly id: string }>;
}

/** Ships an order, one request at a time; who comes meanwhile waits for two seconds. */
export async function POST(request: Request, { params }: Context): Promise<Response> {
  const { id } = await params;
  const options = { waitMs: 2_000, signal: request.signal };
  try {
    return await leases.run(`order:${id}`, options, async (lease) =>
      Response.json({ shipped: id, fence: String(lease.fence) }),
    );
  } catch (error) {
    return toResponse(error);
  }
}
