import { env } from "cloudflare:workers";
import { durableObject } from "leasehold/durable-object";
import { test } from "vitest";
import { story } from "./story.js";

test("a lease's life on the Durable Object", async () => {
  console.log(await story(durableObject(env.LEASES)));
});
