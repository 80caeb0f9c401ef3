import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type LeaseBackend, LeaseClient } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { nodeRedis } from "leasehold/node-redis";
import { TestClock } from "leasehold/testing";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { follow } from "../support/bench.ts";
import { client, freshKey, LONG, value } from "./subject.ts";

const redis = suite();

const NEVER = new Promise<never>(() => {});

/** A duplicate of a client, whose messages are the test's. */
class Duplicate {
  readonly #heard = new Map<string, Set<(channel: string) => void>>();
  #hear: ((channel: string) => void) | undefined;
  isOpen = false;
  /** How often it was asked to listen. */
  subscribed = 0;
  isClosed = false;
  readonly #broken: "connect" | "subscribe" | "unsubscribe" | undefined;

  constructor(broken?: "connect" | "subscribe" | "unsubscribe") {
    this.#broken = broken;
  }

  on(event: string, listener: (channel: string) => void): void {
    if (event === "message") this.#hear = listener;
  }

  async connect(): Promise<void> {
    if (this.#broken === "connect") await NEVER;
  }

  async subscribe(channel: string, hear = (_: string) => {}): Promise<void> {
    this.subscribed += 1;
    if (this.#broken === "subscribe") await NEVER;
    this.#heard.set(channel, (this.#heard.get(channel) ?? new Set()).add(hear));
  }

  /** Without a listener, all of the channel. */
  async unsubscribe(channel: string, hear?: (channel: string) => void): Promise<void> {
    if (this.#broken === "unsubscribe") await NEVER;
    const others = this.#heard.get(channel);
    if (hear !== undefined) others?.delete(hear);
    if (hear === undefined || others?.size === 0) this.#heard.delete(channel);
  }

  /** It is there from here on. */
  opened(): this {
    this.isOpen = true;
    return this;
  }

  /** A message on each channel that is listened to. */
  publish(): void {
    for (const [channel, listeners] of this.#heard) {
      this.#hear?.(channel);
      for (const hear of listeners) hear(channel);
    }
  }

  disconnect(): void {
    this.isClosed = true;
  }
}

const send = async (command: string[]) => value(await redis.direct.send(...command));

const HOSTS: Readonly<Record<string, (duplicate: Duplicate) => LeaseBackend>> = {
  ioredis: (duplicate) =>
    ioredis({
      status: "ready",
      call: (name, args) => send([name, ...args]),
      duplicate: () => duplicate.opened(),
    }),
  "node-redis": (duplicate) =>
    nodeRedis({ isOpen: true, sendCommand: send, duplicate: () => duplicate.opened(), ...PUB_SUB }),
};

/** What a client has by which it is known. */
const PUB_SUB = { subscribe: () => NEVER, unsubscribe: () => NEVER };

for (const [name, host] of Object.entries(HOSTS)) {
  describe(`Redis listening by ${name}`, () => {
    test("all that watch a key are told, and one that leaves takes nothing from the others", async () => {
      const endpoint = await redis.endpoint();
      const key = freshKey();
      const duplicate = new Duplicate();
      // In so short a time nobody asks again without having been told to.
      const clock = new TestClock();
      const publish = async () => {
        duplicate.publish();
        await clock.advance(100);
      };
      const leases = new LeaseClient(host(duplicate), { clock });
      const leaving = new AbortController();
      const watching = [{ signal: leaving.signal }, {}].map((options) =>
        leases.watch(key, options)[Symbol.asyncIterator](),
      );
      for (const states of watching) assert.equal((await states.next()).value.holders.length, 0);

      const told = watching.map((states) => follow(states.next()));
      await eventually("both listen", () => duplicate.subscribed === 2);
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      await publish();
      await eventually("both are told", () => told.every((one) => one().status === "fulfilled"));

      const [left, stays] = watching.map((states) => follow(states.next()));
      await eventually("both listen again", () => duplicate.subscribed === 4);
      leaving.abort(new Error("seen enough"));
      await eventually("one has left", () => left?.().status === "rejected");
      await lease.release();
      await publish();
      await eventually("the other is told", () => stays?.().status === "fulfilled");
      await leases.close();
    });

    for (const broken of ["connect", "subscribe", "unsubscribe"] as const) {
      test(`a connection whose ${broken} never ends is closed all the same when nobody waits`, async () => {
        const endpoint = await redis.endpoint();
        const key = freshKey();
        const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
        const duplicate = new Duplicate(broken);
        const leaving = new AbortController();
        const leases = new LeaseClient(host(duplicate));
        const waiting = follow(leases.acquire(key, { signal: leaving.signal }));
        await eventually("it waits", () => duplicate.isOpen);
        leaving.abort(new Error("waited enough"));
        await eventually("it waits no more", () => waiting().status === "rejected");
        await eventually("it is closed", () => duplicate.isClosed);
        await lease.release();
      });
    }
  });
}
