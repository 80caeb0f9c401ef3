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
import { invalid, LeaseError, type LeaseErrorCode } from "../lease/errors.js";
import type { Json } from "../lease/json.js";
import type { KeyState } from "../lease/key-state.js";
import type { Lease } from "../lease/lease.js";
import type { ReleaseResult } from "../lease/state.js";
import { type CallLimits, FirstAbort } from "../lease/waiting.js";

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
  #resigned = new AbortController();

  /** @internal */
  constructor(leases: Elector, name: string, options: ElectionOptions | undefined) {
    this.#leases = argument("leases", ELECTOR, leases);
    this.#name = argument("name", KEY, name);
    this.#terms = optionsOf(TERMS, options);
  }

  /**
   * Waits, however long it takes, until this candidate leads and has proclaimed its value. Whoever
   * campaigns first is first in line. A candidate that leads already proclaims the value; if it turns
   * out to have lost its leadership, it campaigns anew.
   *
   * @param value - 4 096 bytes as JSON at most.
   * @returns The leadership: lost when its signal aborts, and never shared with another leader.
   * @throws LeaseError `UNAVAILABLE`, `DENIED`, `INVALID`; `LOST`, reason `released`, if `resign` was
   * called meanwhile; or the reason of `options.signal`, which ends the campaign, not the leadership.
   */
  async campaign(value: T, options?: Pick<CallLimits, "signal">): Promise<Lease> {
    argument("value", VALUE, value);
    const { signal } = optionsOf(CAMPAIGN, options);
    const ended = new FirstAbort(signal, this.#resigned.signal);
    try {
      return (await this.#led(value, ended.signal)) ?? (await this.#win(value, ended.signal));
    } finally {
      ended.stop();
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

  /**
   * Gives the leadership up: the next in line leads at once. Ends a campaign that is under way, too.
   * Never rejects for what the host does.
   */
  async resign(options?: CallLimits): Promise<ReleaseResult> {
    const text = `The campaign for ${JSON.stringify(this.#name)} has ended: the candidate resigned.`;
    this.#resigned.abort(new LeaseError("LOST", text, { key: this.#name, reason: "released" }));
    this.#resigned = new AbortController();
    return (await this.#lease?.release(options)) ?? { released: false, reason: "not-held" };
  }

  /** The leadership, if it is held and has the new value. */
  async #led(value: T, signal: AbortSignal): Promise<Lease | undefined> {
    const lease = this.#lease;
    if (!lease?.held) return undefined;
    try {
      await lease.setEntry(ENTRY, value, { signal });
      return lease;
    } catch (error) {
      if (signal.aborted || !isOf(error, "LOST")) throw error;
      return undefined;
    }
  }

  async #win(value: T, signal: AbortSignal): Promise<Lease> {
    if (this.#isCampaigning) {
      throw invalid("campaign", "is under way already: end it by its signal first");
    }
    this.#isCampaigning = true;
    try {
      for (;;) {
        this.#lease = await this.#attempt(value, signal);
        if (this.#lease !== undefined) return this.#lease;
      }
    } finally {
      this.#isCampaigning = false;
    }
  }

  /** The leadership; nothing if the wait ran out, or it was lost before its value was told. */
  async #attempt(value: T, signal: AbortSignal): Promise<Lease | undefined> {
    const waitMs = LONGEST_WAIT_MS;
    let lease: Lease | undefined;
    try {
      lease = await this.#leases.acquire(this.#name, { ...this.#terms, signal, waitMs });
      await lease.setEntry(ENTRY, value, { signal });
      return lease;
    } catch (error) {
      lease?.release();
      if (signal.aborted || !isOf(error, "TIMEOUT", "LOST")) throw error;
      return undefined;
    }
  }
}

function isOf(error: unknown, ...codes: readonly LeaseErrorCode[]): boolean {
  return LeaseError.is(error) && codes.includes(error.code);
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
