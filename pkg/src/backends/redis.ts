import { RedisCall } from "#client-wasm";
import { locking, plain } from "#redis-script";
import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import {
  argument,
  type Check,
  callback,
  flag,
  form,
  hasMethod,
  optionsOf,
  required,
  type Table,
} from "../lease/check.js";
import { type Clock, systemClock, unref } from "../lease/clock.js";
import { BackendError } from "../lease/errors.js";
import { failureOf } from "../lease/failure.js";
import { answerIn } from "./answer.js";
import { isServersWord, type Meaning, meaningOf, unclear } from "./redis/errors.js";
import { list } from "./redis/list.js";
import { Names } from "./redis/names.js";
import { abortable, follower, Waker } from "./redis/waker.js";

/** The way to a Redis server: any client that can send a command will do. */
export interface RedisConnection {
  /**
   * Sends one command and gives its reply. Rejects with the server's error as the message where
   * the server answers with one, and with anything else where there is no answer. Must not send a
   * command again by itself.
   */
  send(command: string[], signal: AbortSignal): Promise<unknown>;
  /**
   * Calls `onMessage` for each message on a channel until the signal aborts. Optional, and only a
   * hint: a message that is lost costs a waiter time and nothing else. May reject when it ends.
   */
  listen?(channel: string, onMessage: () => void, signal: AbortSignal): Promise<void>;
  /** Whether it leads to a cluster, each node of which knows a share of the keys: none can list them. */
  readonly isCluster?: boolean;
}

/** Settings of a Redis host. */
export interface RedisOptions extends RedisConnection {
  /** What all its names in the database begin with: 1 to 64 characters of `A-Z a-z 0-9 _ . : -`. */
  readonly prefix?: string;
  /**
   * Whether a server that evicts keys when its memory is full will do: leases, and fences with them,
   * may then vanish. False by default: the first acquire asks the server, and is refused.
   */
  readonly allowEviction?: boolean;
}

/** The core has the last word on it. */
export const PREFIX = form("1 to 64 characters of A-Z a-z 0-9 _ . : -", /^[\w.:-]{1,64}$/);

/** What is the same for each kind of connection. */
export type RedisSettings = Omit<RedisOptions, keyof RedisConnection>;

export const SETTINGS: Table<RedisSettings> = { prefix: PREFIX, allowEviction: flag };

const OPTIONS: Table<RedisOptions> = {
  send: required(callback),
  listen: callback,
  isCluster: flag,
  ...SETTINGS,
};

const CONNECTION: Check = {
  must: "a connection: an object with send",
  is: (value) => hasMethod(value, "send") || !hasMethod(value, "duplicate"),
  hint: () => "pass ioredis(client) or nodeRedis(client) instead",
};

/**
 * A Redis as a lease host, through whatever can send a command. For a client of `ioredis` or of
 * `redis` take `leasehold/ioredis` or `leasehold/node-redis`.
 *
 * Exclusion is best effort on a store that replicates asynchronously: a failover can lose a grant.
 * The guarantee is the fence, checked at the resource. Eviction has to be off (`noeviction`).
 *
 * @throws LeaseError `INVALID` for a bad option.
 */
export function redis(options: RedisOptions): LeaseBackend {
  argument("options", CONNECTION, options);
  const settings = optionsOf(OPTIONS, options);
  const { listen, isCluster = false, prefix = "leasehold", allowEviction = false } = settings;
  const connection: RedisConnection = {
    isCluster,
    send: (command, signal) => options.send(command, signal),
    ...(listen && {
      listen: (...listening) => options.listen?.(...listening) ?? Promise.resolve(),
    }),
  };
  return new RedisHost(connection, prefix, allowEviction);
}

type Step =
  /** No host would accept the request. */
  | {
      readonly type?: never;
      readonly field: string;
      readonly message: string;
      readonly reason: string;
    }
  | { readonly type: "queued"; readonly waiters: number }
  | { readonly type: "failed" }
  | { readonly type: "rest"; readonly gapMs: number; readonly isHinted: boolean }
  | Send;

interface Send {
  readonly type: "send";
  /** What stands for the op and for the key. */
  readonly op: string;
  readonly key: string;
  readonly waitedMs: number;
  readonly waits: boolean;
  readonly timeoutMs?: number;
  /** Whether nothing of the call was carried out before. */
  readonly afresh: boolean;
}

/** How a call's commands are sent. */
interface Sending {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Whether the server may know the script by its text alone. */
  asText: boolean;
}

/** A reply, or what the server's error in its place means. */
interface Sent {
  readonly reply?: unknown;
  readonly meaning?: Meaning;
}

class RedisHost implements LeaseBackend {
  readonly capabilities: Capabilities;
  readonly #connection: RedisConnection;
  readonly #names: Names;
  /** Whether the server knows the key-locking flag, as far as has been found out. */
  #keyLocking = true;
  /** Whether it is known, or taken, that the server keeps what it is given. */
  #keeps: boolean;
  /** What rests now, by its op. */
  readonly #wakers = new Map<string, Waker>();

  constructor(connection: RedisConnection, prefix: string, allowEviction: boolean) {
    this.capabilities = {
      exclusive: "best-effort",
      fencing: "best-effort",
      waiting: "poll",
      survives: "what the Redis server persists",
      list: !connection.isCluster,
    };
    this.#connection = connection;
    this.#names = new Names(prefix);
    this.#keeps = allowEviction;
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const { signal, resending, clock = systemClock } = options;
    if (!this.#keeps && request.operation === "acquire") {
      await this.#refuseEviction(signal);
    }
    const asked = JSON.stringify(request);
    const call = new RedisCall(asked);
    const sending: Sending = { signal, clock, asText: false };
    const waker = new Waker(this.#connection, signal, clock);
    const { op } = request;
    // Of several calls with one op only the newest is to ask on.
    this.#wakers.get(op)?.supersede();
    this.#wakers.set(op, waker);
    let channel: string | undefined;
    try {
      let step: Step = JSON.parse(call.step(clock.monotonic(), "poll", 0));
      for (;;) {
        switch (step.type) {
          case undefined: {
            const message = `${step.field} ${step.message}`;
            return { v: 1, outcome: "refused", code: "INVALID", reason: step.reason, message };
          }
          case "queued":
            return { v: 1, outcome: "queued", waiters: step.waiters };
          case "failed":
            throw unclear();
          case "rest":
            await waker.rest(step.gapMs, step.isHinted ? channel : undefined);
            step = JSON.parse(
              call.step(clock.monotonic(), waker.isSuperseded ? "superseded" : "poll", 0),
            );
            break;
          case "send": {
            if (request.operation === "list") return await this.#list(request, sending);
            if (step.afresh) resending?.();
            const isWatch = request.operation === "watch";
            channel = isWatch ? this.#names.watchers(step.key) : this.#names.waiter(step.op);
            const words = this.#words(request.key, asked, step);
            const answer = await this.#run(sending, step.timeoutMs, words);
            if (answer === "again") {
              step = JSON.parse(call.step(clock.monotonic(), "resend", 0));
            } else if (answer.outcome === "queued") {
              const { waiters = 0, retryAfterMs } = answer;
              step = JSON.parse(call.step(clock.monotonic(), "queued", waiters, retryAfterMs));
            } else {
              return answer;
            }
          }
        }
      }
    } finally {
      call.free();
      waker.stop();
      if (this.#wakers.get(op) === waker) this.#wakers.delete(op);
    }
  }

  /** What the script is run on, in the order in which it takes it. */
  #words(key: string, asked: string, { waitedMs, waits, key: keyName, op }: Send): string[] {
    return [
      ...this.#names.records([key]),
      // The time is the server's.
      "",
      String(waitedMs),
      waits ? "1" : "",
      this.#names.watchers(keyName),
      this.#names.waiter(""),
      op,
      asked,
    ];
  }

  /** A server that does not say how it is set up is taken at its owner's word. */
  async #refuseEviction(signal: AbortSignal): Promise<void> {
    let info: string;
    try {
      info = String(await abortable(this.#connection.send(["INFO", "memory"], signal), signal));
    } catch (error) {
      this.#keeps = isServersWord(error);
      return;
    }
    const policy = /^maxmemory_policy:([a-z-]+)/m.exec(info)?.[1] ?? "noeviction";
    if (policy !== "noeviction" && !/^maxmemory:0\b/m.test(info)) {
      throw new BackendError(
        `The server evicts keys when its memory is full (maxmemory-policy ${policy}): set it to noeviction.`,
        { delivery: "never", verdict: { code: "INVALID", reason: "eviction" } },
      );
    }
    this.#keeps = true;
  }

  #list(request: WireRequest, sending: Sending): Promise<WireResponse> {
    return list(request, this.#names, {
      scan: async (command) => {
        const { reply, meaning } = await this.#send(sending, undefined, command);
        if (typeof meaning === "string") throw unclear();
        return meaning ?? (Array.isArray(reply) ? reply.flat(Infinity).map(String) : []);
      },
      read: async (keys) => {
        for (;;) {
          const answer = await this.#run(sending, undefined, [...this.#names.records(keys), ""]);
          if (answer !== "again") return answer;
        }
      },
    });
  }

  /** Runs the script. The server may refuse it as a whole, and take it in another form. */
  async #run(
    sending: Sending,
    timeoutMs: number | undefined,
    words: readonly string[],
  ): Promise<WireResponse | "again"> {
    const keyLocking = this.#keyLocking;
    const { text, hash } = keyLocking ? locking : plain;
    const script = sending.asText ? ["EVAL", text] : ["EVALSHA", hash];
    const sent = await this.#send(sending, timeoutMs, [...script, ...words]);
    if (sent.meaning === "no-script") {
      // Only once: a script sent as text cannot be missing.
      if (sending.asText) throw unclear("NOSCRIPT");
      sending.asText = true;
      return "again";
    }
    sending.asText = false;
    if (sent.meaning === "no-key-locking") {
      if (!keyLocking) throw unclear("ERR");
      this.#keyLocking = false;
      return "again";
    }
    const answer = sent.meaning ?? answerIn(String(sent.reply));
    if (answer === undefined) throw unclear();
    return answer;
  }

  /** Sends a command, and gives the server's reply or what its error means. */
  async #send(
    { signal: outer, clock }: Sending,
    timeoutMs: number | undefined,
    command: string[],
  ): Promise<Sent> {
    const { signal, abort, unlink } = follower(outer);
    const timer = timeoutMs === undefined ? undefined : clock.setTimeout(abort, timeoutMs);
    unref(timer);
    try {
      return { reply: await abortable(this.#connection.send(command, signal), signal) };
    } catch (error) {
      if (BackendError.is(error)) throw error;
      if (!isServersWord(error)) throw failureOf(error, "The server", "send");
      const meaning = meaningOf(error.message);
      if (meaning === undefined) throw unclear(error.message.split(" ", 1)[0]);
      return { meaning };
    } finally {
      clock.clearTimeout(timer);
      unlink();
    }
  }
}
