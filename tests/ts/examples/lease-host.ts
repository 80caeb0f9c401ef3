import type { TestContext } from "node:test";
import { durableObjectHost } from "../support/hosts.ts";

/** What `httpFromEnv()` reads. */
export interface HostEnvironment {
  readonly LEASEHOLD_URL: string;
  readonly LEASEHOLD_TOKEN: string;
}

/** A stand-alone host in workerd, for as long as the test runs. */
export async function leaseHost(t: TestContext): Promise<HostEnvironment> {
  const { url, token, close } = await durableObjectHost();
  t.after(close);
  return { LEASEHOLD_URL: url, LEASEHOLD_TOKEN: token };
}
