import { DurableObject } from "cloudflare:workers";

/** An object that fails after it may have done what was asked. */
export class Broken extends DurableObject {
  override fetch(): never {
    throw new Error("an inner secret");
  }
}

/** An object that tells what reaches it. */
export class Echo extends DurableObject {
  override async fetch(request: Request): Promise<Response> {
    return Response.json({ ...((await request.json()) as object), outcome: "echoed" });
  }
}

export default { fetch: () => new Response() };
