import { RedisCall } from "#redis-wasm";
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
import { deferred } from "../lease/deferred.js";
import { BackendError } from "../lease/errors.js";
import { failureOf } from "../lease/failure.js";

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
  | { readonly type: "done"; readonly response: WireResponse }
  | { readonly type: "failed"; readonly word?: string }
  | { readonly type: "rest"; readonly gapMs: number; readonly channel?: string }
  | {
      readonly type: "send";
      readonly command: string[];
      readonly timeoutMs?: number;
      /** Whether nothing of the call was carried out before. */
      readonly afresh: boolean;
    };

class RedisHost implements LeaseBackend {
  readonly capabilities: Capabilities;
  readonly #connection: RedisConnection;
  readonly #prefix: string;
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
    this.#prefix = prefix;
    this.#keeps = allowEviction;
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    const { signal, resending, clock = systemClock } = options;
    if (!this.#keeps && request.operation === "acquire") {
      await this.#refuseEviction(signal);
    }
    const begun = new RedisCall(JSON.stringify(request), this.#prefix, this.#keyLocking);
    const waker = new Waker(this.#connection, signal, clock);
    const { op } = request;
    // Of several calls with one op only the newest is to ask on.
    this.#wakers.get(op)?.supersede();
    this.#wakers.set(op, waker);
    try {
      let step: Step = JSON.parse(begun.poll(clock.monotonic()));
      for (;;) {
        switch (step.type) {
          case "done":
            return step.response;
          case "failed":
            throw unclear(step.word);
          case "rest":
            await waker.rest(step.gapMs, step.channel);
            step = JSON.parse(
              waker.isSuperseded
                ? begun.superseded(clock.monotonic())
                : begun.poll(clock.monotonic()),
            );
            break;
          case "send":
            if (step.afresh) resending?.();
            step = await this.#exchange(begun, step, signal, clock);
        }
      }
    } finally {
      // Another call may have found out meanwhile.
      this.#keyLocking &&= begun.keyLocking;
      begun.free();
      waker.stop();
      if (this.#wakers.get(op) === waker) this.#wakers.delete(op);
    }
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

  async #exchange(
    call: RedisCall,
    { command, timeoutMs }: Extract<Step, { type: "send" }>,
    outer: AbortSignal,
    clock: Clock,
  ): Promise<Step> {
    const { signal, abort, unlink } = follower(outer);
    const timer = timeoutMs === undefined ? undefined : clock.setTimeout(abort, timeoutMs);
    unref(timer);
    let reply: unknown;
    try {
      reply = await abortable(this.#connection.send(command, signal), signal);
    } catch (error) {
      if (BackendError.is(error)) throw error;
      if (isServersWord(error)) {
        const step: Step = JSON.parse(call.refused(clock.monotonic(), error.message));
        const [word = ""] = error.message.split(" ", 1);
        return step.type === "failed" ? { ...step, word } : step;
      }
      throw failureOf(error, "The server", "send");
    } finally {
      clock.clearTimeout(timer);
      unlink();
    }
    return JSON.parse(call.replied(clock.monotonic(), JSON.stringify(words(reply))));
  }
}

/** The words of a reply, those of lists inside of it in their place. */
function words(reply: unknown): string[] {
  return Array.isArray(reply) ? reply.flat(Infinity).map(String) : [];
}

/** The word that an error begins with is the server's own, and no secret. */
function unclear(word = "something unreadable"): BackendError {
  return new BackendError(`The server answered ${word}: what became of the command is unknown.`);
}

/** An error that a server answered with begins with a word in capitals. */
function isServersWord(error: unknown): error is { message: string } {
  const message = Reflect.get(Object(error), "message");
  return typeof message === "string" && /^[A-Z]{2,} /.test(message);
}

/** Lets a waiter rest until its time is up or a message comes in. Listens from the first channel on. */
class Waker {
  readonly #connection: RedisConnection;
  readonly #signal: AbortSignal;
  readonly #clock: Clock;
  #listening: Follower | undefined;
  #hinted = false;
  #isSuperseded = false;
  #wake: (() => void) | undefined;

  constructor(connection: RedisConnection, signal: AbortSignal, clock: Clock) {
    this.#connection = connection;
    this.#signal = signal;
    this.#clock = clock;
  }

  /** Whether there is another call with the same op. */
  get isSuperseded(): boolean {
    return this.#isSuperseded;
  }

  /** Has nobody rest any longer. */
  supersede(): void {
    this.#isSuperseded = true;
    this.#wake?.();
  }

  /** Without a channel, messages that come in count for the next rest. */
  async rest(gapMs: number, channel: string | undefined): Promise<void> {
    const { promise, resolve } = deferred<void>();
    if (channel !== undefined) {
      this.#listen(channel);
      if (this.#hinted || this.#isSuperseded) resolve();
      this.#wake = resolve;
    }
    const timer = this.#clock.setTimeout(resolve, gapMs);
    unref(timer);
    try {
      await abortable(promise, this.#signal);
    } finally {
      this.#clock.clearTimeout(timer);
      this.#wake = undefined;
    }
    if (channel !== undefined) this.#hinted = false;
  }

  /** Nobody rests any more. */
  stop(): void {
    this.#listening?.unlink();
    this.#listening?.abort();
  }

  #listen(channel: string): void {
    if (this.#listening !== undefined) return;
    this.#listening = follower(this.#signal);
    const { signal } = this.#listening;
    const hint = () => {
      this.#hinted = true;
      this.#wake?.();
    };
    // A stream that fails or ends leaves the polls.
    const listening = async () => this.#connection.listen?.(channel, hint, signal);
    listening().catch(() => {});
  }
}

/** The promise, or a rejection as soon as the signal aborts. */
function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(new BackendError("The wait was given up.", { delivery: "unknown" }));
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** A signal that aborts when it is told to, and with another one until they are unlinked. */
interface Follower {
  readonly signal: AbortSignal;
  abort(): void;
  unlink(): void;
}

/** By hand, since `AbortSignal.any` takes a tenth of a round trip on the same machine. */
function follower(leader: AbortSignal): Follower {
  const controller = new AbortController();
  const abort = () => controller.abort();
  if (leader.aborted) abort();
  leader.addEventListener("abort", abort);
  return {
    signal: controller.signal,
    abort,
    unlink: () => leader.removeEventListener("abort", abort),
  };
}
