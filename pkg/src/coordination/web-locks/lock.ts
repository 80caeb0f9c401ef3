import type { Lease } from "../../lease/lease.js";
import { onAbort } from "../../lease/waiting.js";
import type { LockMode } from "./request.js";

/** A lock that is held until the callback is done, or until it is broken. */
export class Lock {
  readonly #lease: Lease;
  readonly #name: string;
  readonly #mode: LockMode;

  /** @internal */
  constructor(lease: Lease, name: string, mode: LockMode) {
    this.#lease = lease;
    this.#name = name;
    this.#mode = mode;
  }

  /** What was requested. */
  get name(): string {
    return this.#name;
  }

  get mode(): LockMode {
    return this.#mode;
  }

  /** Aborts when the lock is broken: it was stolen, or can no longer be trusted. Beyond the standard. */
  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  /**
   * A number higher than that of any earlier grant of this name, for a resource to check. Beyond
   * the standard.
   */
  get fence(): bigint {
    return this.#lease.fence;
  }

  get [Symbol.toStringTag](): string {
    return "Lock";
  }
}

/**
 * What the callback comes to while the lock is held; released then.
 *
 * @throws What the callback throws; DOMException `AbortError` as soon as the lock is broken.
 */
export async function hold(lease: Lease, callback: () => unknown): Promise<unknown> {
  const { signal } = lease;
  let stop = () => {};
  const broken = new Promise<never>((_, reject) => {
    stop = onAbort(signal, (reason) => reject(brokenFor(reason)));
  });
  try {
    const result = await Promise.race([broken, settled(callback)]);
    if (lease.signal.aborted) throw brokenFor(signal.reason); // Reading it looks at the clock.
    return result;
  } finally {
    stop();
    await lease.release();
  }
}

async function settled(callback: () => unknown): Promise<unknown> {
  return await callback();
}

function brokenFor(cause: unknown): DOMException {
  const error = new DOMException("The lock was broken: stolen, or no longer sure.", "AbortError");
  return Object.defineProperty(error, "cause", { value: cause });
}
