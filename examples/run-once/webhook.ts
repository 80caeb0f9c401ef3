import { type LeaseClient, LeaseError } from "leasehold";
import { toResponse } from "leasehold/synchronized";
import { chargeOnce, type Times } from "./charge.ts";
import type { Ledger } from "./ledger.ts";

/**
 * `POST` with the header `idempotency-key` and `{ "cents": 1999 }`: however often it is sent, the
 * order is charged once, and each time answered with the same charge.
 */
export function webhook(
  leases: LeaseClient,
  ledger: Ledger,
  times?: Times,
  log?: (line: string) => void,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const id = request.headers.get("idempotency-key");
    const { cents } = (await request.json()) as { cents: number };
    if (!id || !Number.isSafeInteger(cents)) return new Response("which charge?", { status: 400 });
    try {
      return Response.json(await chargeOnce(leases, ledger, { id, cents }, times, log));
    } catch (error) {
      if (LeaseError.is(error) && error.reason === "fingerprint") {
        return new Response("this key was used for another amount", { status: 422 });
      }
      return toResponse(error); // 409 while another is at it, 503 while nobody could be asked
    }
  };
}
