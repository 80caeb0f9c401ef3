/**
 * The script against the machine: the same random operations, at the same times, get the same
 * answers from a real Redis as from the host machine that the simulation attacks. What is proven of
 * the one so holds of the other: terms, waiting, limits, entries and results included.
 *
 * Where the two differ by design, the test leaves it out or allows for it:
 * - Redis does not remember an acquire that was denied, since that would cost a write each.
 * - A release reads no time unless somebody waits or watches: one that comes after the end of its
 *   term, and before anybody else noticed, is told that it has released.
 * - Redis notes with its next change that a term has ended, the machine when it looks: so Redis may
 *   remember how for longer.
 * - Redis keeps a free key for the first waiter until it asks, the machine grants it at once to one
 *   that is away. So waiters go for good only while others hold the key for long enough.
 * - The machine offers a free key to its first waiter, for a short term that is confirmed at once. On
 *   Redis the waiter asks at that moment, and gets its whole term.
 * - Redis tells holders less of their terms, as a margin for its clock.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { LeaseBackend, WireRequest, WireResponse } from "leasehold";
import { memory } from "leasehold/memory";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Rng } from "../history/rng.ts";
import { DueClock, TimedRedis } from "./timed.ts";

const SEED = Number(process.env.LEASEHOLD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 60;
const STEPS = 40;
/** How long an operation is sent again: shorter than any host remembers it. */
const REPEATED_MS = 10_000;
/** How long a waiter that has gone keeps its place. */
const GRACE_MS = 3_000;
/** A fence that no grant ever has. */
const UNKNOWN = "18446744073709551615";
/** The term of what is offered to a waiter. */
const OFFER_MS = 3_000;
/** The most that is kept back of a term. */
const MARGIN_MS = 500;

/** A number as an id. */
const id = (number: number) => number.toString(16).padStart(32, "0");

/** A request whose fence stands for the n-th that was seen. */
type Sketch = Omit<WireRequest, "fence"> & { readonly fence?: number };

interface Sent {
  readonly sketch: Sketch;
  readonly at: number;
}

/** One of the two hosts, and what it has called its fences. */
class Side {
  readonly backend: LeaseBackend;
  readonly #clock: DueClock;
  readonly #fences: string[] = [];

  constructor(backend: LeaseBackend, clock: DueClock) {
    this.backend = backend;
    this.#clock = clock;
  }

  /** Asks, and asks again while it is told to wait. */
  async ask(sketch: Sketch, signal: AbortSignal): Promise<WireResponse> {
    const { fence, waitMs = 0, ...rest } = sketch;
    const until = this.#clock.now + waitMs;
    const named = fence === undefined ? {} : { fence: this.#fences[fence] ?? UNKNOWN };
    for (;;) {
      const wait = sketch.waitMs === undefined ? {} : { waitMs: until - this.#clock.now };
      const request = { ...rest, ...named, ...wait } as WireRequest;
      const options = { signal, timeoutMs: 30_000, rebind: false, clock: this.#clock };
      const response = await this.backend.call(request, options);
      const { lease, ttlMs, replayed } = response;
      if (response.outcome === "granted" && ttlMs === OFFER_MS && !replayed) {
        const confirmation = { ...rest, operation: "renew", lease } as WireRequest;
        return { ...response, ttlMs: (await this.backend.call(confirmation, options)).ttlMs ?? 0 };
      }
      if (response.outcome !== "queued") return response;
    }
  }

  /** An answer with fences by number, and without what may differ. */
  essence(response: WireResponse) {
    const {
      fence,
      present,
      ttlMs,
      waitedMs,
      replayed,
      wanted = 0,
      waiters = 0,
      ...rest
    } = response;
    return {
      ...rest,
      fence: this.#index(fence),
      present: this.#index(present),
      state: rest.state && this.#shown(rest.state),
      wanted,
      waiters,
    };
  }

  #shown({ revision, ...state }: NonNullable<WireResponse["state"]>) {
    const numbered = <T extends { readonly fence: string }>(grant: T) => ({
      ...grant,
      fence: this.#index(grant.fence),
    });
    return {
      ...state,
      holders: state.holders.map(numbered),
      done: state.done && numbered(state.done),
    };
  }

  #index(fence: string | undefined): number | undefined {
    if (fence === undefined) return undefined;
    if (!this.#fences.includes(fence)) this.#fences.push(fence);
    return this.#fences.indexOf(fence);
  }
}

/** A request under way with both. */
class Both {
  readonly sent: Sent;
  readonly answers: (WireResponse | undefined)[] = [undefined, undefined];
  readonly #abort = new AbortController();

  constructor(sent: Sent, sides: readonly Side[]) {
    this.sent = sent;
    for (const [index, side] of sides.entries()) {
      side.ask(sent.sketch, this.#abort.signal).then(
        (response) => {
          this.answers[index] = response;
        },
        () => {},
      );
    }
  }

  leave(): void {
    this.#abort.abort();
  }
}

/** A random operation on a key; some repeat one of the recent ones, word for word. */
function operation(
  rng: Rng,
  key: string,
  step: number,
  sent: readonly Sent[],
  recent: readonly Sent[],
  granted: readonly string[],
): Sketch {
  if (recent.length > 0 && rng.next() < 0.25) return rng.pick(recent).sketch;
  const op = id(step + 1);
  const base = { v: 1, key, op } as const;
  const some = <T extends object>(chance: number, fields: () => T) =>
    rng.next() < chance ? fields() : {};
  const leases = sent.flatMap(({ sketch: { lease, toLease } }) =>
    [lease, toLease].filter((one) => one !== undefined),
  );
  const fence = () => ({ fence: rng.between(0, 9) });
  const credential = () => ({
    lease: rng.pick(rng.next() < 0.7 ? [id(999), ...granted].slice(-3) : [id(999), ...leases]),
    ...some(0.2, fence),
  });
  const ttlMs = () => rng.pick([4_000, 10_000, 60_000]);
  switch (rng.between(0, 15)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
      return {
        ...base,
        operation: "acquire",
        holder: rng.pick(["ada", "bob", "cy d"]),
        lease: id(1_000 + step),
        ttlMs: ttlMs(),
        // No two waits end at the same millisecond, nor does any when time has passed.
        ...some(0.6, () => ({ waitMs: rng.between(0, 30) * 1_000 + 100 + step })),
        ...some(0.5, () => ({ limit: rng.pick([1, 2, 3, 1_024]) })),
        ...some(0.1, () => ({ steal: true })),
        ...some(0.2, () => ({ fingerprint: rng.pick(["a", "b c"]) })),
        ...some(0.15, () => ({ ...credential(), fence: undefined, repeat: "extend" as const })),
      };
    case 6:
      return { ...base, operation: "renew", ...credential(), ttlMs: ttlMs() };
    case 7:
    case 8:
      return { ...base, operation: "release", ...credential() };
    case 9:
      return { ...base, operation: "verify", ...credential() };
    case 10: {
      const successor = { toHolder: "dee", toLease: id(2_000 + step), ttlMs: ttlMs() };
      return { ...base, operation: "transfer", ...credential(), ...successor };
    }
    case 11: {
      const cancelled = sent.filter(({ sketch }) => /acquire|transfer/.test(sketch.operation));
      return {
        ...base,
        op: cancelled.length > 0 ? rng.pick(cancelled).sketch.op : op,
        operation: "cancel",
      };
    }
    case 12:
      return {
        ...base,
        operation: "entry",
        ...credential(),
        name: rng.pick(["n", "n\n1"]),
        number: rng.between(1, step + 1),
        ...some(0.8, () => ({ value: rng.pick(['{"a": [1, "é"]}', "null", '"~ %"']) })),
      };
    case 13:
      return rng.next() < 0.5
        ? { ...base, operation: "inspect" }
        : { ...base, operation: "revoke", ...some(0.5, fence) };
    default:
      return {
        ...base,
        operation: "finish",
        ...credential(),
        result: '{"total": 3}',
        keepMs: 60_000,
      };
  }
}

const server = RedisServer.start();
after(async () => (await server).close());

test(`random operations, seed ${SEED}`, { timeout: 240_000 }, async (t) => {
  const rng = new Rng(SEED);
  const seen = new Map<string, number>();
  for (let run = 0; run < RUNS; run += 1) await oneRun(rng, run, seen);
  t.diagnostic([...seen].map(([what, count]) => `${what} ${count}`).join(", "));
});

async function oneRun(rng: Rng, run: number, seen: Map<string, number>): Promise<void> {
  const clock = new DueClock();
  const timed = await TimedRedis.open(await server, clock);
  const sides = [new Side(memory({ clock }), clock), new Side(timed.backend, clock)] as const;
  const told: string[] = [];
  const sent: Sent[] = [];
  /** The leases that there have been, newest last. */
  const granted: string[] = [];
  /** Leases whose end has two reasons. */
  const blurred = new Set<string>();
  /** Ops that are not sent again: one of the two does not remember them, or for another end. */
  const once = new Set<string>();
  let open: Both[] = [];
  let revisions: readonly string[] = [];
  let shown: string | undefined;

  const complain = (what: string) => `seed ${SEED}, run ${run}: ${what}\n${told.join("\n")}`;

  function compare(): void {
    for (const both of open) {
      const { sketch } = both.sent;
      const [ours, theirs] = both.answers;
      const request = JSON.stringify(sketch);
      if (ours === undefined && theirs === undefined) continue;
      told.push(`${clock.now} ${request} -> ${JSON.stringify(ours)} | ${JSON.stringify(theirs)}`);
      if (ours === undefined || theirs === undefined) assert.fail(complain("one has answered"));
      const outcome = `${sketch.operation}: ${ours.outcome}`;
      seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
      const late = sketch.operation === "release" && theirs.outcome === "released";
      if (late && ours.outcome === "not-holder") {
        blurred.add(sketch.lease ?? "");
        once.add(sketch.op);
      }
      if (ours.lease !== undefined) granted.push(ours.lease);
      const [expected, actual] = [sides[0].essence(ours), sides[1].essence(theirs)];
      // Of several that are let in at the same time it depends on which of them looks when.
      if (clock.now > both.sent.at) {
        actual.wanted = expected.wanted;
        actual.waiters = expected.waiters;
      }
      if (ours.reason === "unknown" && actual.outcome === "not-holder") actual.reason = "unknown";
      if (!blurred.has(sketch.lease ?? "")) {
        assert.deepEqual(actual, expected, complain("different answers"));
      }
      const kept = (ours.ttlMs ?? 0) - (theirs.ttlMs ?? 0);
      assert.ok(kept >= 0 && kept <= MARGIN_MS, complain(`terms differ by ${kept} ms`));
      const isDenied = ours.outcome === "held" || ours.outcome === "done";
      if (isDenied || clock.now > both.sent.at) once.add(sketch.op);
    }
    open = open.filter(({ answers }) => answers[0] === undefined);
  }

  /** What both show of the key, which is the same. */
  async function look() {
    const inspect: Sketch = { v: 1, key, op: id(0), operation: "inspect" };
    const both = new Both({ sketch: inspect, at: clock.now }, sides);
    await timed.settle();
    const states = both.answers.map((answer) => answer?.state ?? assert.fail("no state"));
    const [expected, actual] = both.answers.map((answer, index) =>
      sides[index]?.essence(answer as WireResponse),
    );
    assert.deepEqual(actual, expected, complain("different states"));
    const now = JSON.stringify(expected, (name, value) => (/Ms$/.test(name) ? undefined : value));
    for (const [index, { revision }] of states.entries()) {
      const before = BigInt(revisions[index] ?? "0");
      const same = shown === undefined || shown === now;
      assert.ok(same || BigInt(revision) > before, complain("a change without a revision"));
      assert.ok(BigInt(revision) >= before, complain("a revision that falls"));
    }
    shown = now;
    revisions = states.map(({ revision }) => revision);
    return states[0];
  }

  const key = `run ${run}`;
  for (let step = 0; step < STEPS; step += 1) {
    const choice = rng.next();
    if (choice < 0.6) {
      // Who waits asks again by itself.
      const waiting = new Set(open.map((both) => both.sent.sketch.op));
      const isRecent = ({ at, sketch: { op } }: Sent) =>
        clock.now - at <= REPEATED_MS && !waiting.has(op) && !once.has(op);
      const sketch = operation(rng, key, step, sent, sent.filter(isRecent), granted);
      // Its waiter is told at once by the machine, when it asks again by Redis.
      if (sketch.operation === "cancel")
        open = open.filter((both) => both.sent.sketch.op !== sketch.op);
      if (!sent.some((earlier) => earlier.sketch === sketch)) sent.push({ sketch, at: clock.now });
      open.push(new Both({ sketch, at: clock.now }, sides));
      await timed.settle();
    } else if (choice < 0.95 || open.length === 0) {
      const ms = rng.pick([100, 500, 2_000, 3_000, 7_000]);
      told.push(`${clock.now} + ${ms} ms`);
      await timed.advance(ms);
    } else {
      await leave();
    }
    compare();
    await look();
  }
  for (const both of open) both.leave();
  timed.close();

  /** One that waits goes, unless its turn might come before its place is given up. */
  async function leave(): Promise<void> {
    const { holders = [] } = (await look()) ?? {};
    const soon = holders.some(
      ({ limit, remainingMs }) => limit > 1 || remainingMs < GRACE_MS + 500,
    );
    const gone = rng.pick(open);
    if (soon || holders.length === 0) return;
    told.push(`${clock.now} ${gone.sent.sketch.op} has gone`);
    gone.leave();
    open = open.filter((both) => both !== gone);
    once.add(gone.sent.sketch.op);
    await timed.advance(GRACE_MS + 100);
  }
}
