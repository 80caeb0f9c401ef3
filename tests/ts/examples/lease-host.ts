import type { TestContext } from "node:test";
import { Workers } from "../workerd/harness.ts";

/** What `httpFromEnv()` reads. */
export interface HostEnvironment {
  readonly LEASEHOLD_URL: string;
  readonly LEASEHOLD_TOKEN: string;
}

/** A stand-alone host in workerd, for as long as the test runs. */
export async function leaseHost(t: TestContext): Promise<HostEnvironment> {
  const LEASEHOLD_TOKEN = "a-token-for-the-examples";
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL("../../../pkg/dist/workerd/worker.js", import.meta.url),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: LEASEHOLD_TOKEN },
    flags: ["enable_request_signal"],
  });
  t.after(() => workers.stop());
  return { LEASEHOLD_URL: String(await workers.url()), LEASEHOLD_TOKEN };
}
