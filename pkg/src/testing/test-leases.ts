import { memory } from "../backends/memory.js";
import { type Lease, LeaseClient, type LeaseClientOptions } from "../index.js";
import { CLIENT } from "../lease/arguments.js";
import { optionsOf, type Table } from "../lease/check.js";
import { ScriptedBackend } from "./scripted-backend.js";
import { PASSING_MS, TestClock } from "./test-clock.js";

/** How leases for a test are set up. */
export interface TestLeasesOptions extends Omit<LeaseClientOptions, "clock"> {
  /**
   * How long a request takes one way, in virtual milliseconds; 0 by default, so that nothing has
   * to be advanced for an answer.
   */
  readonly latencyMs?: number;
}

const { clock: _, ...CLIENT_OPTIONS } = CLIENT;
const OPTIONS: Table<TestLeasesOptions> = { ...CLIENT_OPTIONS, latencyMs: PASSING_MS };

/**
 * A client to test code with that takes leases, on a host of its own and on virtual time.
 *
 * ```ts
 * const { leases, clock, hold, lose } = testLeases();
 * ```
 */
export interface TestLeases {
  /** For the code under test. */
  readonly leases: LeaseClient;
  /** The time of all of it: stands still until `await clock.advance(ms)`. */
  readonly clock: TestClock;
  /** The host and the network before it: script slow, lost and failing requests here. */
  readonly host: ScriptedBackend;
  /**
   * Has somebody else hold a key, until the lease that is returned is released.
   *
   * @throws LeaseError `HELD` if it is held already.
   */
  hold(key: string): Promise<Lease>;
  /**
   * Takes a lease of `leases` away as an operator would, and lets as much time pass as it takes its
   * holder to learn of it: its signal has aborted then.
   */
  lose(lease: Lease): Promise<void>;
}

/**
 * Sets up leases for one test.
 *
 * @throws LeaseError `INVALID` for a bad option.
 */
export function testLeases(options?: TestLeasesOptions): TestLeases {
  const { latencyMs = 0, ...ours } = optionsOf(OPTIONS, options);
  const clock = new TestClock();
  const server = memory({ clock });
  const host = new ScriptedBackend(server, { clock, latencyMs });
  const leases = new LeaseClient(host, { ...ours, clock });
  // Past the network that a test scripts.
  const others = new LeaseClient(server, { clock });

  async function lose(lease: Lease): Promise<void> {
    await others.revoke(lease.key, { fence: lease.fence });
    lease.verify().catch(() => {});
    await clock.advance(2 * latencyMs);
    if (lease.held) {
      await clock.advance(lease.remainingMs());
    }
  }

  return { leases, clock, host, hold: (key) => others.acquire(key, { waitMs: 0 }), lose };
}
