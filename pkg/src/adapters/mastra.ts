/**
 * Leases for Mastra's agents: which process runs a thread, on any lease host.
 *
 * @module
 */
import { HOLDER, LIMITS, NAMED, type NamedOptions, TTL_MS } from "../lease/arguments.js";
import { argument, type Check, having, optionsOf, type Table, text } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { LeaseError } from "../lease/errors.js";
import { keyOf } from "../lease/key-text.js";
import type { NamedLeases } from "../lease/named.js";
import { Patience } from "./patience.js";

/**
 * What Mastra asks of a PubSub that knows leases: the `LeaseProvider` of `@mastra/core/events`.
 *
 * Every method rejects with a TypeError for a key, an owner or a term that can't be, and with a
 * LeaseError if the host can't be asked in time: then it is unknown who owns the key.
 */
export interface LeaseProvider {
  /** Has the owner own the key for `ttlMs` from now on; else tells who owns it. */
  acquireLease(
    key: string,
    owner: string,
    ttlMs: number,
  ): Promise<{ acquired: boolean; owner?: string }>;
  /** Who owns the key; undefined if nobody does. */
  getLeaseOwner(key: string): Promise<string | undefined>;
  /** Frees the key if the owner has it. */
  releaseLease(key: string, owner: string): Promise<void>;
  /** Sets the owner's term anew; false if it doesn't own the key any more. */
  renewLease(key: string, owner: string, ttlMs: number): Promise<boolean>;
  /** Hands the key over in one step, with a whole term; false if `fromOwner` doesn't own it. */
  transferLease(key: string, fromOwner: string, toOwner: string, ttlMs: number): Promise<boolean>;
}

/** How a lease provider goes about it. */
export interface LeaseProviderOptions extends NamedOptions {
  /** What the keys begin with at the host: `mastra:` by default. */
  readonly prefix?: string;
  /**
   * The longest that a call may take, in milliseconds. By default a third of the term: of the one
   * that the call names, else of Mastra's own, which is 15 000 unless the variable
   * `MASTRA_AGENT_THREAD_LEASE_TTL_MS` says otherwise.
   */
  readonly timeoutMs?: number;
}

const METHODS = [
  "acquireLease",
  "getLeaseOwner",
  "releaseLease",
  "renewLease",
  "transferLease",
] as const;

const OPTIONS: Table<LeaseProviderOptions> = {
  ...NAMED,
  prefix: text(256),
  timeoutMs: LIMITS.timeoutMs,
};

const CLIENT = having("a LeaseClient", "named");
const PROVIDER = having("a lease provider", ...METHODS);

/** What begins with it stands for something else: at the host, as a key, a hash; as an owner, JSON. */
const MARK = "~";

const NOBODY_YET = "The lease is neither to be had nor held by anybody, and the time is up.";

/**
 * The five methods that Mastra looks for. They keep nothing between two calls: each process that has
 * the secret can act for every owner, and what a process owned when it ended is free by the end of
 * the term.
 *
 * @throws LeaseError `INVALID` for a bad argument.
 */
export function leaseProvider(
  leases: Pick<LeaseClient, "named">,
  options: LeaseProviderOptions,
): LeaseProvider {
  const { prefix = "mastra:", timeoutMs, secret } = optionsOf(OPTIONS, options);
  const named = argument("leases", CLIENT, leases).named({ secret });
  const patience = (ttlMs = mastrasTtlMs()) => new Patience(timeoutMs ?? patienceMs(ttlMs));
  const keyFor = (key: string) => keyOf(textOf("key", key), MARK, prefix);

  return {
    async acquireLease(key, owner, ttlMs) {
      const [asked, holder, ttl] = [await keyFor(key), holderOf(owner), termOf(ttlMs)];
      const patient = patience(ttl);
      for (;;) {
        const answer = await patient.ask((limits) =>
          named.acquire(asked, holder, { ttlMs: ttl, ...limits }),
        );
        if (answer.granted) {
          // A host that has had much to do with the key grants a short term, and the whole one to who
          // is still there. A short one of half the length is renewed in time.
          const isLong = answer.remainingMs >= ttl / 2;
          if (isLong || (await renew(named, patient, asked, holder, ttl))) {
            return { acquired: true, owner };
          }
        } else if (answer.owner !== undefined) {
          return { acquired: false, owner: ownerOf(answer.owner) };
        }
        // Nobody's now. A refusal without an owner would have Mastra lose a message.
        if (!(await patient.pause())) {
          throw new LeaseError("UNAVAILABLE", NOBODY_YET, { key: asked });
        }
      }
    },

    async getLeaseOwner(key) {
      const asked = await keyFor(key);
      const found = await patience().ask((limits) => named.owner(asked, limits));
      return found === undefined ? undefined : ownerOf(found.owner);
    },

    async releaseLease(key, owner) {
      const [asked, holder] = [await keyFor(key), holderOf(owner)];
      const patient = patience();
      const found = await patient.ask((limits) => named.owner(asked, limits));
      if (found?.owner !== holder) return;
      const { fence } = found; // Asked again, it must not end a later grant of the same owner's.
      await patient.ask((limits) => named.release(asked, holder, { fence, ...limits }));
    },

    async renewLease(key, owner, ttlMs) {
      const [asked, holder, ttl] = [await keyFor(key), holderOf(owner), termOf(ttlMs)];
      return await renew(named, patience(ttl), asked, holder, ttl);
    },

    async transferLease(key, fromOwner, toOwner, ttlMs) {
      const [asked, from, to] = [await keyFor(key), holderOf(fromOwner), holderOf(toOwner)];
      const ttl = termOf(ttlMs);
      const patient = patience(ttl);
      if (from === to) return await renew(named, patient, asked, from, ttl);
      const found = await patient.ask((limits) => named.owner(asked, limits));
      if (found?.owner !== from) return false;
      const { fence } = found;
      const grant = await patient.ask((limits) =>
        named.transfer(asked, from, to, { fence, ttlMs: ttl, ...limits }),
      );
      if (grant !== undefined) return true;
      // Not the owner's any more: perhaps by an attempt of ours whose answer was lost.
      return (await patient.ask((limits) => named.owner(asked, limits)))?.owner === to;
    },
  };
}

/**
 * Has Mastra find a lease provider at a PubSub, whichever way it looks for one.
 *
 * @returns The PubSub itself.
 * @throws LeaseError `INVALID` for what is no lease provider, or can't be given methods.
 */
export function attachLease<P extends object>(
  pubsub: P,
  provider: LeaseProvider,
): P & LeaseProvider & { getLeaseProvider(): LeaseProvider } {
  argument("provider", PROVIDER, provider);
  argument("pubsub", EXTENSIBLE, pubsub);
  const methods = Object.fromEntries(METHODS.map((name) => [name, provider[name].bind(provider)]));
  return Object.assign(pubsub, methods as unknown as LeaseProvider, {
    getLeaseProvider: () => provider,
  });
}

const EXTENSIBLE: Check = {
  must: "an object that can be given methods",
  is: (value) => typeof value === "object" && value !== null && Object.isExtensible(value),
};

async function renew(
  named: NamedLeases,
  patient: Patience,
  key: string,
  holder: string,
  ttlMs: number,
): Promise<boolean> {
  const renewed = await patient.ask((limits) => named.renew(key, holder, { ttlMs, ...limits }));
  return renewed !== undefined;
}

/** The owner's name at the host, which every process reads back as the same text. */
function holderOf(owner: string): string {
  const plain = textOf("owner", owner);
  const isPlain = plain.isWellFormed() && !plain.startsWith(MARK);
  const holder = isPlain ? plain : MARK + JSON.stringify(plain);
  if (!HOLDER.is(holder)) {
    throw new TypeError("owner must take no more than 256 bytes");
  }
  return holder;
}

function ownerOf(holder: string): string {
  if (!holder.startsWith(MARK)) return holder;
  try {
    return String(JSON.parse(holder.slice(MARK.length)));
  } catch {
    return holder; // Some other program's.
  }
}

function textOf(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw new TypeError(`${name} must be text, and not empty`);
  }
  return value;
}

function termOf(ttlMs: number): number {
  if (!TTL_MS.is(ttlMs)) {
    throw new TypeError(`ttlMs must be ${TTL_MS.must}`);
  }
  return ttlMs;
}

/** Short enough for another renewal in the same term; in the shortest of terms, long enough to ask. */
function patienceMs(ttlMs: number): number {
  return Math.max(ttlMs / 3, Math.min(0.8 * ttlMs, 250));
}

/** The length of the terms of Mastra's own threads, in milliseconds. */
function mastrasTtlMs(): number {
  const told = Number(globalThis.process?.env?.MASTRA_AGENT_THREAD_LEASE_TTL_MS);
  return TTL_MS.is(told) ? told : 15_000;
}
