import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Lease, LeaseError } from "leasehold";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import type { Fault } from "../../rest-endpoint/faults.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { client } from "./subject.ts";

const redis = suite();

const CONTENDERS = 200;
const KEYS = 8;
const TERM = 1_500;

/** A resource that takes a write only from a fence that is not below the highest it has seen. */
class Register {
  #highest = 0n;
  #writer = "";
  #inside: Lease | undefined;
  readonly writers = new Set<string>();
  refused = 0;

  write(fence: bigint, writer: string): void {
    if (fence < this.#highest) {
      this.refused += 1;
      return;
    }
    assert.ok(fence > this.#highest || writer === this.#writer, "no fence has two holders");
    this.#highest = fence;
    this.#writer = writer;
    this.writers.add(writer);
  }

  /** Between these two nobody else comes in, unless this lease does not show as held any more. */
  enter(lease: Lease): void {
    assert.ok(this.#inside?.held !== true, "two holders at once");
    this.#inside = lease;
  }

  leave(lease: Lease): void {
    if (this.#inside === lease) this.#inside = undefined;
  }
}

const FAULTS: readonly (readonly [Fault, number])[] = [
  [{ kind: "drop-before" }, 0.02],
  [{ kind: "drop-after" }, 0.04],
  [{ kind: "duplicate" }, 0.03],
  [{ kind: "delay-before", ms: 60 }, 0.03],
  [{ kind: "delay-after", ms: 60 }, 0.03],
  [{ kind: "truncate" }, 0.02],
  [{ kind: "status", status: 502, body: "html", after: true }, 0.02],
  [{ kind: "status", status: 503, body: "json" }, 0.02],
  [{ kind: "empty", after: true }, 0.01],
  [{ kind: "script-flush" }, 0.02],
];

interface Tally {
  served: number;
  refused: number;
}

describe("Redis: 200 contenders with faults", () => {
  const seed = Number(process.env.LEASEHOLD_SEED ?? Date.now() % 1_000_000);

  test(`one holder at a time, fences only rise, everybody is answered (LEASEHOLD_SEED=${seed})`, async (t) => {
    const endpoint = await redis.endpoint({ seed });
    const random = seededRandom(seed);
    t.diagnostic(`LEASEHOLD_SEED=${seed}`);
    const registers = Array.from({ length: KEYS }, () => new Register());
    for (const [fault, probability] of FAULTS) endpoint.faults.add(fault, { probability });
    const tally: Tally = { served: 0, refused: 0 };
    const contenders = Array.from({ length: CONTENDERS }, (_, index) => {
      const place = Math.floor(random() * KEYS);
      const register = registers[place] as Register;
      const plan = { index, key: `key-${place}`, writes: 1 + Math.floor(random() * 3), random };
      return contend(endpoint, register, plan, tally);
    });
    await Promise.all(contenders);
    assert.equal(tally.served + tally.refused, CONTENDERS);
    // How many are served in time is the machine's affair; that all keys move on is ours.
    for (const register of registers) assert.ok(register.writers.size > 0);
    endpoint.faults.clear();
    await eventually("all keys are free and nobody waits", async () => {
      const infos = await Promise.all(
        registers.map((_, place) => client(endpoint).inspect(`key-${place}`)),
      );
      return infos.every((info) => info === undefined);
    });
    await eventually("no stream is open", () => endpoint.streams.open === 0);
    const refused = registers.reduce((sum, register) => sum + register.refused, 0);
    t.diagnostic(
      `${tally.served} served, ${tally.refused} refused, ${refused} late writes refused`,
    );
  });
});

interface Plan {
  readonly index: number;
  readonly key: string;
  readonly writes: number;
  readonly random: () => number;
}

async function contend(
  endpoint: RestEndpoint,
  register: Register,
  plan: Plan,
  tally: Tally,
): Promise<void> {
  const waitMs = plan.index % 10 === 0 ? 0 : 14_000;
  const sleeps = plan.index % 10 === 1;
  let lease: Lease;
  try {
    lease = await client(endpoint).acquire(plan.key, {
      waitMs,
      ...(sleeps ? { ttlMs: 200, renew: "manual" } : { ttlMs: TERM }),
    });
  } catch (error) {
    assert.ok(error instanceof LeaseError, String(error));
    assert.ok(["HELD", "TIMEOUT", "UNAVAILABLE"].includes(error.code), error.message);
    tally.refused += 1;
    return;
  }
  tally.served += 1;
  const writer = crypto.randomUUID();
  if (lease.held) register.enter(lease);
  for (let write = 0; write < plan.writes; write += 1) {
    register.write(lease.fence, writer);
    await pause(plan.random() * 12);
    if (!lease.held) break;
  }
  // It looks no more whether it still holds, and writes again when another may have been served.
  if (sleeps) {
    await pause(400);
    register.write(lease.fence, writer);
  }
  register.leave(lease);
  await lease.release();
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
