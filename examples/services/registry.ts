/**
 * Which instances of a service there are: each holds the service's key together with the others,
 * and has its address as an entry of its own, which ends with its lease.
 */

import { type KeyState, type LeaseClient, LeaseError } from "leasehold";

/** An instance that runs. */
export interface Instance {
  readonly name: string;
  readonly url: string;
}

const keyOf = (service: string) => `service:${service}`;

/**
 * Keeps an instance registered until `signal` aborts. If the lease is lost, such as over a network
 * that was gone for a term, it registers anew.
 */
export async function register(
  leases: LeaseClient,
  service: string,
  { name, url }: Instance,
  { signal, ttlMs = 10_000 }: { readonly signal: AbortSignal; readonly ttlMs?: number },
): Promise<void> {
  while (!signal.aborted) {
    try {
      const options = { mode: "shared", holder: name, ttlMs, signal } as const;
      await leases.run(keyOf(service), options, async (lease) => {
        await lease.setEntry("url", url);
        await aborted(AbortSignal.any([lease.signal, signal]));
      });
    } catch (error) {
      const registersAnew = LeaseError.is(error) && RECOVERABLE.includes(error.code);
      if (!registersAnew && !signal.aborted) throw error;
    }
  }
}

const RECOVERABLE = ["LOST", "TIMEOUT", "UNAVAILABLE"];

/** The instances that are there now, and again after each change. */
export async function* instances(
  leases: LeaseClient,
  service: string,
  options?: { readonly signal?: AbortSignal },
): AsyncGenerator<readonly Instance[], void> {
  for await (const state of leases.watch(keyOf(service), options)) {
    yield instancesIn(state);
  }
}

function instancesIn({ holders }: KeyState): Instance[] {
  return holders.flatMap(({ holder, entries: { url } }) =>
    // Without an entry it is only about to register.
    typeof url === "string" ? [{ name: holder, url }] : [],
  );
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
