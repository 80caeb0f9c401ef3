import { durableObject } from "leasehold/durable-object";
import { story } from "./story.js";

export { LeaseHost } from "leasehold/host";

export default {
  async fetch(_request, env) {
    await story();
    return new Response(await story(durableObject(env.LEASES)));
  },
};
