import {
  HOLDER,
  KEY,
  LIMITS,
  NAMED,
  NAMED_GRANT,
  NAMED_TERM,
  type NamedGrantOptions,
  type NamedOptions,
  type NamedTermOptions,
  TERM,
  type TermOptions,
} from "./arguments.js";
import type { WireResponse } from "./backend.js";
import { argument, optionsOf } from "./check.js";
import { hex } from "./hex.js";
import { type Questions, unreadable } from "./questions.js";
import { done } from "./run-once.js";
import type { CallLimits } from "./waiting.js";

/** A grant of a named owner's, as it was when the host answered. */
export interface NamedGrant {
  readonly fence: bigint;
  /** How long it lasts from the host's answer on, in milliseconds. */
  readonly remainingMs: number;
}

/** What came of asking for a key: the grant, or who else has it, as far as the host knows. */
export type NamedAnswer =
  | ({ readonly granted: true } & NamedGrant)
  | { readonly granted: false; readonly owner: string | undefined };

/**
 * Leases by their owners' names, for code that remembers nothing between two calls. Each call is
 * one question to the host and its answer: nothing is renewed, nothing lost by itself.
 *
 * The credential is derived from key and owner with a secret: whoever has the secret can act for
 * any owner. A grant goes on when its owner acquires again.
 */
export class NamedLeases {
  readonly #questions: Questions;
  readonly #defaultTtlMs: number;
  readonly #secret: Promise<CryptoKey>;

  /** @internal */
  constructor(questions: Questions, defaultTtlMs: number, options: NamedOptions) {
    const { secret } = optionsOf(NAMED, options);
    this.#questions = questions;
    this.#defaultTtlMs = defaultTtlMs;
    this.#secret = keyOf(secret);
    this.#secret.catch(() => {});
  }

  /**
   * Asks for the key once, or extends the grant that the owner has.
   *
   * @returns The grant, or who has the key: another owner, or nobody yet while others wait for it.
   * @throws LeaseError `DONE`, `UNAVAILABLE`, `DENIED`, `INVALID`; or the reason of `options.signal`.
   */
  async acquire(key: string, owner: string, options?: TermOptions): Promise<NamedAnswer> {
    const { ttlMs = this.#defaultTtlMs, ...limits } = optionsOf(TERM, options);
    const lease = await this.#leaseOf(key, owner);
    const question = { operation: "acquire", key, holder: owner, lease, ttlMs } as const;
    const answer = await this.#questions.ask({ ...question, repeat: "extend" }, limits);
    if (answer.outcome === "held") return { granted: false, owner: answer.holder };
    return { granted: true, ...grantOf(key, answer) };
  }

  /**
   * Extends the owner's grant.
   *
   * @param options.fence - Only the grant with this fence.
   * @returns How it is extended; undefined if the owner has no such grant.
   * @throws As `acquire`.
   */
  async renew(
    key: string,
    owner: string,
    options?: NamedTermOptions,
  ): Promise<{ readonly remainingMs: number } | undefined> {
    const { ttlMs = this.#defaultTtlMs, fence, ...limits } = optionsOf(NAMED_TERM, options);
    const lease = await this.#leaseOf(key, owner);
    const question = { operation: "renew", key, lease, ttlMs, ...about(fence) } as const;
    const answer = await this.#questions.ask(question, limits);
    if (answer.outcome === "not-holder") return undefined;
    if (answer.outcome !== "renewed" || answer.ttlMs === undefined) throw unreadable(key);
    return { remainingMs: answer.ttlMs };
  }

  /**
   * Gives the owner's grant back.
   *
   * @param options.fence - Of the grant. Left out, the present one is asked for first.
   * @returns Whether there was one.
   * @throws As `acquire`.
   */
  async release(key: string, owner: string, options?: NamedGrantOptions): Promise<boolean> {
    const { fence, ...limits } = optionsOf(NAMED_GRANT, options);
    const lease = await this.#leaseOf(key, owner);
    const ask = this.#questions.within(limits);
    const meant = fence ?? (await fenceOf(key, owner, ask));
    if (meant === undefined) return false;
    const { outcome } = await ask({ operation: "release", key, lease, ...about(meant) });
    if (outcome !== "released" && outcome !== "not-holder") throw unreadable(key);
    return outcome === "released";
  }

  /**
   * Hands the owner's grant to another owner, in one step and under a higher fence.
   *
   * @param options.fence - Of the grant. Left out, the present one is asked for first.
   * @returns The other's grant; undefined if the owner had none.
   * @throws As `acquire`.
   */
  async transfer(
    key: string,
    owner: string,
    toOwner: string,
    options?: NamedTermOptions,
  ): Promise<NamedGrant | undefined> {
    const { ttlMs = this.#defaultTtlMs, fence, ...limits } = optionsOf(NAMED_TERM, options);
    const lease = await this.#leaseOf(key, owner);
    argument("toOwner", HOLDER, toOwner);
    const toLease = await this.#leaseOf(key, toOwner);
    const ask = this.#questions.within(limits);
    const meant = fence ?? (await fenceOf(key, owner, ask));
    if (meant === undefined) return undefined;
    const grant = { lease, ...about(meant) };
    const to = { toHolder: toOwner, toLease, ttlMs };
    const answer = await ask({ operation: "transfer", key, ...grant, ...to });
    return answer.outcome === "not-holder" ? undefined : grantOf(key, answer);
  }

  /**
   * Asks who has the key.
   *
   * @returns The owner and its grant; undefined if nobody has the key.
   * @throws As `acquire`.
   */
  async owner(
    key: string,
    options?: CallLimits,
  ): Promise<(NamedGrant & { readonly owner: string }) | undefined> {
    argument("key", KEY, key);
    const [first] = await holdersOf(key, this.#questions.within(optionsOf(LIMITS, options)));
    if (first === undefined) return undefined;
    const { holder, fence, remainingMs } = first;
    return { owner: holder, fence: BigInt(fence), remainingMs };
  }

  /** The id of the leases of an owner on a key. */
  async #leaseOf(key: string, owner: string): Promise<string> {
    argument("key", KEY, key);
    argument("owner", HOLDER, owner);
    const named = new TextEncoder().encode(JSON.stringify([key, owner]));
    const mac = await crypto.subtle.sign("HMAC", await this.#secret, named);
    return hex(new Uint8Array(mac, 0, 16));
  }
}

type Ask = ReturnType<Questions["within"]>;

async function holdersOf(key: string, ask: Ask) {
  const { state } = await ask({ operation: "inspect", key });
  if (state === undefined) throw unreadable(key);
  return state.holders;
}

async function fenceOf(key: string, owner: string, ask: Ask): Promise<bigint | undefined> {
  const own = (await holdersOf(key, ask)).find(({ holder }) => holder === owner);
  return own === undefined ? undefined : BigInt(own.fence);
}

async function keyOf(secret: string | Uint8Array): Promise<CryptoKey> {
  // A copy: what is done to the caller's bytes later changes no id.
  const bytes = typeof secret === "string" ? new TextEncoder().encode(secret) : secret.slice();
  const hmac = { name: "HMAC", hash: "SHA-256" };
  return await crypto.subtle.importKey("raw", bytes, hmac, false, ["sign"]);
}

const about = (fence: bigint | undefined) => (fence === undefined ? {} : { fence: String(fence) });

function grantOf(key: string, { outcome, fence, ttlMs, ageMs }: WireResponse): NamedGrant {
  if (outcome === "done" && fence !== undefined) {
    throw done(key, { fence, ageMs: ageMs ?? 0 });
  }
  if (outcome !== "granted" || fence === undefined || ttlMs === undefined) throw unreadable(key);
  return { fence: BigInt(fence), remainingMs: ttlMs };
}
