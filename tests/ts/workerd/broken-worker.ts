import { DurableObject } from "cloudflare:workers";

/** An object that fails after it may have done what was asked. */
export class Broken extends DurableObject {
  call(): never {
    throw new Error("an inner secret");
  }
}

export default { fetch: () => new Response() };
