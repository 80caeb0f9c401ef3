import { type Lease, type LeaseClient, LeaseError } from "leasehold";
import type { Told } from "./history.ts";
import type { Rng } from "./rng.ts";

const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

/**
 * Contends for keys for as long as `goesOn`, and tells what it believes and writes. `now` is the
 * clock that all contenders share, in microseconds.
 */
export async function contend(
  leases: LeaseClient,
  rng: Rng,
  now: () => number,
  tell: (told: Told) => void,
  goesOn: () => boolean,
): Promise<void> {
  /** Tells one grant from another, whatever fences they have. */
  const names = new WeakMap<Lease, string>();
  const nameOf = (lease: Lease): string => {
    const name = names.get(lease) ?? crypto.randomUUID().replaceAll("-", "");
    names.set(lease, name);
    return name;
  };

  /** Tells until when the lease would be taken for held, were it looked at. */
  const believe = (lease: Lease) => {
    const at = now();
    const until = at + lease.remainingMs() * 1_000;
    const { key, fence } = lease;
    tell({ type: "believes", key, lease: nameOf(lease), fence: String(fence), at, until });
  };

  const hold = async (lease: Lease): Promise<void> => {
    lease.addEventListener("renewed", () => believe(lease));
    believe(lease);
    for (let writes = rng.between(1, 4); writes > 0 && lease.held; writes -= 1) {
      await pause(rng.between(0, 250));
      // From here to the write's arrival anything may happen: that is what the fence is for.
      tell({ type: "writes", key: lease.key, lease: nameOf(lease), fence: String(lease.fence) });
    }
    if (rng.next() < 0.2 && lease.held) {
      tell({ type: "ends", lease: nameOf(lease), at: now() });
      return hold(await leases.resume(await lease.transfer("next")));
    }
    tell({ type: "ends", lease: nameOf(lease), at: now() });
    await lease.release();
  };

  while (goesOn()) {
    try {
      const lease = await leases.acquire(`key-${rng.between(0, 3)}`, { ttlMs: 600, waitMs: 3_000 });
      await hold(lease);
    } catch (error) {
      if (!(error instanceof LeaseError)) throw error;
      tell({ type: "fails", code: error.code });
      await pause(rng.between(0, 50));
    }
  }
}
