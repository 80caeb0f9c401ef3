import { type LeaseClient, LeaseError } from "leasehold";

type Send = (order: string, fence: bigint, signal: AbortSignal) => Promise<void>;

/** Ships an order, once, however many ask for it. */
export async function ship(
  leases: LeaseClient,
  order: string,
  send: Send,
): Promise<"shipped" | "busy" | "given up"> {
  try {
    await leases.run(`order:${order}`, { ttlMs: 30_000, waitMs: 5_000 }, (lease) =>
      send(order, lease.fence, lease.signal),
    );
    return "shipped";
  } catch (error) {
    if (LeaseError.is(error) && error.code === "TIMEOUT") return "busy";
    if (LeaseError.is(error) && error.code === "LOST") return "given up";
    throw error;
  }
}
