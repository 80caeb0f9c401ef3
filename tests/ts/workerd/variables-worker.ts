/** The stand-alone host under the variables that each request brings along. */

import { WorkerEntrypoint } from "cloudflare:workers";
import LeaseWorker, { type Env } from "leasehold/worker";

export { LeaseHost } from "leasehold/worker";

export default class extends WorkerEntrypoint<Env> {
  override fetch(request: Request): Promise<Response> {
    const variables = JSON.parse(request.headers.get("x-variables") ?? "{}");
    return new LeaseWorker(this.ctx, { ...this.env, ...variables }).fetch(request);
  }
}
