import { Hono } from "hono";
import type { Lease, LeaseClient } from "leasehold";
import { synchronized, toResponse } from "leasehold/synchronized";

/** `POST /orders/:id/ship` ships an order, one request at a time for each. */
export function app(leases: LeaseClient, ship: (id: string, lease: Lease) => Promise<string>) {
  const shipOnce = synchronized(leases, "order:{}", ship);
  const routes = new Hono();
  routes.post("/orders/:id/ship", async (c) => c.text(await shipOnce(c.req.param("id"))));
  routes.onError((error, c) => {
    try {
      return toResponse(error); // 409 or 503, with Retry-After
    } catch {
      console.error(error);
      return c.text("Internal Server Error", 500);
    }
  });
  return routes;
}
