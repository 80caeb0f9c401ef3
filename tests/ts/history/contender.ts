/** A process that contends for keys until it is killed, and tells its parent what it believes. */

import { type Lease, LeaseClient, LeaseError } from "leasehold";
import { http } from "leasehold/http";
import { upstash } from "leasehold/upstash";
import type { Told } from "./history.ts";
import { Rng } from "./rng.ts";

const [kind = "", url = "", token = "", seed = "0"] = process.argv.slice(2);
const rng = new Rng(Number(seed));
const host = kind === "redis" ? upstash({ url, token }) : http({ url, token });
const leases = new LeaseClient(host);

const tell = (message: Told) => process.send?.(message);
/** The clock that all processes of a machine share, in microseconds. */
const now = () => Number(process.hrtime.bigint() / 1_000n);
const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

/** Tells until when the lease would be taken for held, were it looked at. */
function believe(lease: Lease): void {
  const at = now();
  const until = at + lease.remainingMs() * 1_000;
  tell({
    type: "believes",
    key: lease.key,
    lease: lease.id,
    fence: String(lease.fence),
    at,
    until,
  });
}

async function hold(lease: Lease): Promise<void> {
  lease.addEventListener("renewed", () => believe(lease));
  believe(lease);
  for (let writes = rng.between(1, 4); writes > 0 && lease.held; writes -= 1) {
    await pause(rng.between(0, 250));
    // From here to the write's arrival anything may happen: that is what the fence is for.
    tell({ type: "writes", key: lease.key, lease: lease.id, fence: String(lease.fence) });
  }
  if (rng.next() < 0.2 && lease.held) {
    tell({ type: "ends", lease: lease.id, at: now() });
    return hold(await leases.resume(await lease.transfer("next")));
  }
  tell({ type: "ends", lease: lease.id, at: now() });
  await lease.release();
}

for (;;) {
  try {
    const lease = await leases.acquire(`key-${rng.between(0, 3)}`, { ttlMs: 600, waitMs: 3_000 });
    await hold(lease);
  } catch (error) {
    if (!(error instanceof LeaseError)) throw error;
    tell({ type: "fails", code: error.code });
    await pause(rng.between(0, 50));
  }
}
