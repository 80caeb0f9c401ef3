/** The stand-alone host, whose objects can be filled from within. */

import LeaseWorker, { LeaseHost } from "leasehold/worker";

/** One request, but for its key and ids. */
type Asked = Record<string, unknown> & { readonly key: string };

export class Fillable extends LeaseHost {
  /** Acquires so many keys that begin with the one asked for: how many got what answer. */
  async fill(asked: Asked, count: number): Promise<Record<string, number>> {
    const answers: Record<string, number> = {};
    for (let index = 0; index < count; index += 1) {
      const id = index.toString(16).padStart(32, "0");
      const request = { ...asked, key: `${asked.key}${index}`, op: id, lease: id };
      const { outcome, reason = outcome } = await this.call(request);
      answers[reason] = (answers[reason] ?? 0) + 1;
    }
    return answers;
  }
}

export default class extends LeaseWorker {
  override async fetch(request: Request): Promise<Response> {
    const [, path, object = "", count] = new URL(request.url).pathname.split("/");
    if (path !== "fill") return super.fetch(request);
    const { LEASES } = this.env;
    const stub = LEASES.get(LEASES.idFromName(decodeURIComponent(object)));
    return Response.json(await stub.fill(await request.json(), Number(count)));
  }
}
