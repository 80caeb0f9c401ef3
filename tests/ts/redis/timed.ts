import type { LeaseBackend } from "leasehold";
import { redis } from "leasehold/redis";
import { TestClock } from "leasehold/testing";
import type { RedisAddress } from "../../rest-endpoint/redis.ts";
import { RedisConnection } from "../../rest-endpoint/redis.ts";
import type { Reply } from "../../rest-endpoint/resp.ts";
import { value } from "./subject.ts";

/** The test clock's origin, by the server's clock: in milliseconds since 1970. */
const ORIGIN = 1_700_000_000_000;

/** The command, with the script told that it is so many milliseconds after the origin. */
export function timed(command: string[], ms: number): string[] {
  if (!command[0]?.startsWith("EVAL")) return command;
  return command.with(3 + Number(command[2]), String((ORIGIN + ms) * 1_000));
}

/** A test clock that tells when the next timer is due. */
export class DueClock extends TestClock {
  readonly #due = new Map<unknown, number>();

  /** When the next timer is due. */
  get nextDue(): number {
    return Math.min(...this.#due.values());
  }

  override setTimeout(callback: () => void, ms: number): unknown {
    const timer = super.setTimeout(() => {
      this.#due.delete(timer);
      callback();
    }, ms);
    this.#due.set(timer, this.now + Math.max(ms, 0));
    return timer;
  }

  override clearTimeout(timer: unknown): void {
    this.#due.delete(timer);
    super.clearTimeout(timer);
  }
}

/**
 * A real server whose script is told the time, as it is for no user: by a clock that moves only when
 * it is told. Hints are delivered before the answer to the command that gave them.
 */
export class TimedRedis {
  readonly backend: LeaseBackend;
  /** How far the server's clock has been set forward, or back, in milliseconds. */
  skewMs = 0;
  readonly #clock: DueClock;
  readonly #commands: RedisConnection;
  readonly #hints: RedisConnection;
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #pongs: (() => void)[] = [];
  #pending = 0;
  #sent = 0;

  private constructor(clock: DueClock, commands: RedisConnection, hints: RedisConnection) {
    this.#clock = clock;
    this.#commands = commands;
    this.#hints = hints;
    hints.stream(["PSUBSCRIBE", "leasehold:*"], this.#hear);
    this.backend = redis({
      send: (command) => this.#send(command),
      listen: (channel, onMessage, signal) => this.#listen(channel, onMessage, signal),
    });
  }

  static async open(address: RedisAddress, clock: DueClock): Promise<TimedRedis> {
    const connections = [RedisConnection.open(address), RedisConnection.open(address)] as const;
    return new TimedRedis(clock, ...(await Promise.all(connections)));
  }

  /** How many commands there have been. */
  get sent(): number {
    return this.#sent;
  }

  /** Lets everything go on that waits neither for time nor for us. */
  async settle(): Promise<void> {
    do {
      await this.#clock.settle();
    } while (this.#pending > 0);
    await this.#clock.settle();
  }

  /** Lets time pass, and at each timer's time everything that follows from it. */
  async advance(ms: number): Promise<void> {
    const end = this.#clock.now + ms;
    await this.settle();
    do {
      const next = Math.min(end, this.#clock.nextDue);
      await this.#clock.advance(Math.max(0, next - this.#clock.now));
      await this.settle();
    } while (this.#clock.now < end);
  }

  close(): void {
    this.#commands.close();
    this.#hints.close();
  }

  async #send(command: string[]): Promise<unknown> {
    this.#pending += 1;
    this.#sent += 1;
    try {
      const reply = await this.#commands.send(...timed(command, this.#clock.now + this.skewMs));
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#pongs.push(resolve);
      // On a connection that is subscribed the answer comes after all messages before it.
      this.#hints.stream(["PING"], this.#hear);
      await promise;
      return value(reply);
    } finally {
      this.#pending -= 1;
    }
  }

  async #listen(channel: string, onMessage: () => void, signal: AbortSignal): Promise<void> {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(onMessage));
    signal.addEventListener("abort", () => listeners.delete(onMessage));
  }

  readonly #hear = (reply: Reply) => {
    const [kind, , channel] = value(reply) as string[];
    if (kind === "pong") this.#pongs.shift()?.();
    for (const hint of this.#listeners.get(channel ?? "") ?? []) hint();
  };
}
