/**
 * Leader election: many campaign, one leads until it resigns or its lease is lost.
 *
 * @module
 */
import {
  ACQUIRE,
  type AcquireOptions,
  KEY,
  LONGEST_WAIT_MS,
  VALUE,
  WATCH,
} from "../lease/arguments.js";
import { argument, having, optionsOf, type Table } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { invalid, LeaseError } from "../lease/errors.js";
import type { Json } from "../lease/json.js";
import type { KeyState } from "../lease/key-state.js";
import type { Lease } from "../lease/lease.js";
import type { ReleaseResult } from "../lease/state.js";
import type { CallLimits } from "../lease/waiting.js";

/** What is used of a client. */
export type Elector = Pick<LeaseClient, "acquire" | "inspect" | "watch">;

/** Who leads, and what it has proclaimed. */
export interface Leader<T extends Json = Json> {
  /** The name that it campaigned under. */
  readonly holder: string;
  /** Higher than that of any leader before. */
  readonly fence: bigint;
  readonly value: T;
}

/** On what terms one leads. */
export type ElectionOptions = Pick<AcquireOptions, "ttlMs" | "holder" | "maxHoldMs">;

const { ttlMs, holder, maxHoldMs } = ACQUIRE;
const TERMS: Table<ElectionOptions> = { ttlMs, holder, maxHoldMs };
const CAMPAIGN: Table<Pick<CallLimits, "signal">> = { signal: ACQUIRE.signal };
const { after: _, ...OBSERVE } = WATCH;
const ELECTOR = having("a LeaseClient", "acquire", "inspect", "watch");

/** The entry of the leader's grant that has what it proclaims. */
const ENTRY = "value";

/** An election, as one candidate or observer sees it. */
export class Election<T extends Json = Json> {
  readonly #leases: Elector;
  readonly #name: string;
  readonly #terms: ElectionOptions;
  #lease: Lease | undefined;
  #isCampaigning = false;

  /** @internal */
  constructor(leases: Elector, name: string, options: ElectionOptions | undefined) {
    this.#leases = argument("leases", ELECTOR, leases);
    this.#name = argument("name", KEY, name);
    this.#terms = optionsOf(TERMS, options);
  }

  /**
   * Waits, however long it takes, until this candidate leads and has proclaimed its value. Whoever
   * campaigns first is first in line. A candidate that leads already proclaims the value.
   *
   * @param value - 4 096 bytes as JSON at most.
   * @returns The leadership: lost when its signal aborts, and never shared with another leader.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`, which
   * ends the campaign, not the leadership.
   */
  async campaign(value: T, options?: Pick<CallLimits, "signal">): Promise<Lease> {
    argument("value", VALUE, value);
    const limits = optionsOf(CAMPAIGN, options);
    if (this.#lease?.held) {
      await this.#lease.setEntry(ENTRY, value, limits);
      return this.#lease;
    }
    if (this.#isCampaigning) {
      throw invalid("campaign", "is under way already: end it by its signal first");
    }
    this.#isCampaigning = true;
    try {
      this.#lease = await this.#win(value, limits);
      return this.#lease;
    } finally {
      this.#isCampaigning = false;
    }
  }

  /**
   * Asks the host who leads.
   *
   * @returns Undefined while nobody leads, or the winner has not told its value yet.
   * @throws What `LeaseClient.inspect` throws.
   */
  async leader(options?: CallLimits): Promise<Leader<T> | undefined> {
    return leaderOf<T>(await this.#leases.inspect(this.#name, options));
  }

  /**
   * Who leads, and who does next: the present leader first, then each change of it or its value;
   * undefined while nobody leads. What came and went in between may be left out.
   *
   * @throws What `LeaseClient.watch` throws.
   */
  observe(options?: CallLimits): AsyncIterable<Leader<T> | undefined> {
    return leaders<T>(this.#leases.watch(this.#name, optionsOf<CallLimits>(OBSERVE, options)));
  }

  /**
   * Replaces the value of this leader.
   *
   * @throws LeaseError `LOST` if this candidate does not lead; what `Lease.setEntry` throws.
   */
  async proclaim(value: T, options?: CallLimits): Promise<void> {
    if (this.#lease === undefined) {
      const text = `No campaign for ${JSON.stringify(this.#name)} has been won here.`;
      throw new LeaseError("LOST", text, { key: this.#name, reason: "not-held" });
    }
    await this.#lease.setEntry(ENTRY, value, options);
  }

  /** Gives the leadership up: the next in line leads at once. Never rejects for what the host does. */
  async resign(options?: CallLimits): Promise<ReleaseResult> {
    return (await this.#lease?.release(options)) ?? { released: false, reason: "not-held" };
  }

  async #win(value: T, limits: Pick<CallLimits, "signal">): Promise<Lease> {
    for (;;) {
      let lease: Lease | undefined;
      try {
        lease = await this.#leases.acquire(this.#name, {
          ...this.#terms,
          ...limits,
          waitMs: LONGEST_WAIT_MS, // Then it begins another.
        });
        await lease.setEntry(ENTRY, value, limits);
        return lease;
      } catch (error) {
        lease?.release();
        const goesOn = LeaseError.is(error) && (error.code === "TIMEOUT" || error.code === "LOST");
        if (!goesOn) throw error;
      }
    }
  }
}

/** The election of this name: the key of the leader's lease. */
export function election<T extends Json = Json>(
  leases: Elector,
  name: string,
  options?: ElectionOptions,
): Election<T> {
  return new Election<T>(leases, name, options);
}

async function* leaders<T extends Json>(
  states: AsyncIterable<KeyState>,
): AsyncGenerator<Leader<T> | undefined, void> {
  let told: string | undefined;
  for await (const state of states) {
    const leader = leaderOf<T>(state);
    const found = leader === undefined ? "" : `${leader.fence} ${JSON.stringify(leader.value)}`;
    if (found !== told) {
      told = found;
      yield leader;
    }
  }
}

function leaderOf<T extends Json>(state: KeyState | undefined): Leader<T> | undefined {
  const [first] = state?.holders ?? [];
  const value = first?.entries[ENTRY];
  if (first === undefined || value === undefined) return undefined;
  return { holder: first.holder, fence: first.fence, value: value as T };
}
