/**
 * The lease host's own Worker, with a handler that contends for keys and streams what it believes,
 * a line of JSON each. Its objects are reached by RPC, past the proxy.
 */

import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import LeaseWorker from "leasehold/worker";
import { contend } from "./contend.ts";
import { Rng } from "./rng.ts";

export { LeaseHost } from "leasehold/worker";

export default class ContenderWorker extends LeaseWorker {
  override async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname !== "/contend") return super.fetch(request);
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    let goesOn = true;
    const { LEASES } = this.env as unknown as { LEASES: LeaseNamespace };
    const contending = contend(
      new LeaseClient(durableObject(LEASES)),
      new Rng(Number(searchParams.get("seed"))),
      () => Date.now() * 1_000,
      (told) => {
        writer.write(encoder.encode(`${JSON.stringify(told)}\n`)).catch(() => {
          goesOn = false;
        });
      },
      () => goesOn,
    );
    this.ctx.waitUntil(contending.finally(() => writer.close()).catch(() => {}));
    return new Response(readable);
  }
}
