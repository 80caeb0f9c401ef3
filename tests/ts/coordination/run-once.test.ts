import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Lease, LeaseClient } from "leasehold";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { follow, parties, pause } from "../support/bench.ts";

const JOBS = 8;

/** What was seen of one job. */
interface Job {
  /** The leases that it was begun under. */
  readonly begun: Lease[];
  /** What a call came to, as JSON. */
  readonly results: Set<string>;
  isDone: boolean;
}

interface Seen {
  begun: number;
  again: number;
  failed: number;
}

describe("runOnce, under faults", () => {
  test("one result for everybody, one at a time, and nobody begins after it is told", async () => {
    const seen: Seen = { begun: 0, again: 0, failed: 0 };
    for (let seed = 1; seed <= 20; seed += 1) {
      assert.deepEqual(await storm(seed, seen, runOnce), [], `seed ${seed}`);
    }
    assert.ok(seen.again > 20, `${seen.again} begun anew`);
    assert.ok(seen.failed > 100, `${seen.failed} calls failed`);
  });

  test("a lease alone would have work done again that is done", async () => {
    const seen: Seen = { begun: 0, again: 0, failed: 0 };
    const faults = [];
    for (let seed = 1; seed <= 3; seed += 1) faults.push(...(await storm(seed, seen, runAlone)));
    assert.ok(faults.length > 0);
  });
});

type Once = (
  leases: LeaseClient,
  key: string,
  work: (lease: Lease) => Promise<number>,
) => Promise<number>;

const options = { ttlMs: 1_500, waitMs: 3_000 };
const runOnce: Once = (leases, key, work) =>
  leases.runOnce(key, { ...options, keepMs: 3_600_000 }, work);
const runAlone: Once = (leases, key, work) => leases.run(key, options, work);

/** Four clients ask for the same jobs again and again; what they saw that must not be. */
async function storm(seed: number, seen: Seen, once: Once): Promise<string[]> {
  const { clock, all } = parties(4);
  const random = seededRandom(seed);
  const jobs = Array.from(
    { length: JOBS },
    (): Job => ({ begun: [], results: new Set(), isDone: false }),
  );
  const faults: string[] = [];
  let serial = 0;
  let isOver = false;

  const ask = async (leases: LeaseClient, job: Job, index: number) => {
    try {
      const result = await once(leases, `job-${index}`, async (lease) => {
        if (job.isDone) faults.push(`job ${index} is begun after it was done`);
        if (job.begun.some(({ held }) => held)) faults.push(`job ${index} is begun twice at once`);
        if (job.begun.length > 0) seen.again += 1;
        job.begun.push(lease);
        seen.begun += 1;
        await pause(clock, random() * 2_500);
        if (random() < 0.2) throw new Error("the work failed");
        serial += 1;
        return serial;
      });
      job.isDone = true;
      job.results.add(JSON.stringify(result));
    } catch {
      seen.failed += 1;
    }
  };
  const running = all.map(async ({ client }) => {
    while (!isOver) {
      const index = Math.floor(random() * JOBS);
      await ask(client, jobs[index] as Job, index);
      await pause(clock, random() * 500);
    }
  });
  const standing = running.map(follow);
  for (let turn = 0; turn < 60; turn += 1) {
    for (const { host } of all) {
      host.restore();
      const lot = random();
      if (lot < 0.2) host.always("*", { deliver: 0 });
      else if (lot < 0.35) host.always("*", { answer: "never" });
      else host.always("*", { toHostMs: random() * 60, toClientMs: random() * 200 });
    }
    await clock.advance(1_000);
  }
  isOver = true;
  for (const { host } of all) host.restore();
  await clock.advance(60_000);
  assert.ok(standing.every((each) => each().status === "fulfilled"));
  for (const [index, { results }] of jobs.entries()) {
    if (results.size > 1) faults.push(`job ${index} has ${results.size} results`);
  }
  return faults;
}
