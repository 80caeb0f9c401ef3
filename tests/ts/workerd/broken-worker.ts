import { DurableObject } from "cloudflare:workers";

/** An object that fails after it may have done what was asked. */
export class Broken extends DurableObject {
  call(): never {
    throw new Error("an inner secret");
  }
}

/** An object that tells what reaches it. */
export class Echo extends DurableObject {
  call(request: object): object {
    return { ...request, outcome: "echoed" };
  }
}

export default { fetch: () => new Response() };
