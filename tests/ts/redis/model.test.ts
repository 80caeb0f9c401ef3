/**
 * The scripts against the machine: the same random operations, many of them repeated, get the same
 * answers from a real Redis as from the host machine that the simulation attacks. What is proven of
 * the one so holds of the other, time and waiting left aside. One difference is by design: to
 * remember every acquire that was denied would cost a write each, so Redis does not, and no holder
 * repeats one.
 */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { LeaseBackend, WireRequest, WireResponse } from "leasehold";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Rng } from "../history/rng.ts";

const SEED = Number(process.env.LEASEHOLD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const RUNS = 80;
const STEPS = 30;
const HOLDERS = ["ada", "bob"];

/** A number as an id. */
const id = (number: number) => number.toString(16).padStart(32, "0");

/** A random operation on a key; some repeat an earlier one, word for word. */
function operation(rng: Rng, key: string, step: number, sent: WireRequest[]): WireRequest {
  if (sent.length > 0 && rng.next() < 0.3) return rng.pick(sent);
  const op = id(step + 1);
  const base = { v: 1, key, op } as const;
  const grants = sent.flatMap(({ lease, toLease }) => [lease, toLease].filter((one) => one));
  const credential = {
    lease: grants.length === 0 ? id(0) : (rng.pick(grants) as string),
    // Of no grant on either host.
    ...(rng.next() < 0.2 ? { fence: "0" } : {}),
  };
  switch (rng.between(0, 9)) {
    case 0:
    case 1:
    case 2: {
      const holder = rng.pick(HOLDERS);
      return {
        ...base,
        operation: "acquire",
        holder,
        lease: id(1_000 + step),
        ttlMs: 60_000,
      };
    }
    case 3:
      return {
        ...base,
        operation: "renew",
        ...credential,
        ttlMs: rng.pick([1_000, 60_000, 90_000]),
      };
    case 4:
      return { ...base, operation: "release", ...credential };
    case 5:
      return { ...base, operation: "verify", ...credential };
    case 6: {
      const successor = { toHolder: rng.pick(HOLDERS), toLease: id(2_000 + step), ttlMs: 60_000 };
      return { ...base, operation: "transfer", ...credential, ...successor };
    }
    case 7: {
      const cancelled = sent.filter(({ operation }) => /acquire|transfer/.test(operation));
      return {
        ...base,
        op: cancelled.length > 0 ? rng.pick(cancelled).op : op,
        operation: "cancel",
      };
    }
    default:
      return { ...base, operation: rng.pick(["inspect", "revoke"]) };
  }
}

/** The part of an answer that does not depend on the host's clock. */
function essence(response: WireResponse, fences: Map<string, number>) {
  const { fence, ttlMs, retryAfterMs, ...rest } = response;
  // Fences differ; their order may not. A replay of what has ended has no time left.
  if (fence !== undefined && !fences.has(fence)) fences.set(fence, fences.size);
  return { ...rest, fence: fence && fences.get(fence), isOver: ttlMs === 0 };
}

test(`random operations, seed ${SEED}`, { timeout: 120_000 }, async () => {
  await using server = await RedisServer.start();
  await using endpoint = await RestEndpoint.start({
    redis: { port: server.port },
    supportsKeyLocking: true,
  });
  const redis = upstash({ url: endpoint.url, token: endpoint.token });
  const machine = memory();
  const rng = new Rng(SEED);
  const options = { signal: new AbortController().signal, timeoutMs: 5_000, rebind: false };
  for (let run = 0; run < RUNS; run += 1) {
    const sent: WireRequest[] = [];
    const told: string[] = [];
    const ask = async (host: LeaseBackend, request: WireRequest, fences: Map<string, number>) =>
      essence(await host.call(request, options), fences);
    const [ours, theirs] = [new Map<string, number>(), new Map<string, number>()];
    for (let step = 0; step < STEPS; step += 1) {
      const request = operation(rng, `run-${run}`, step, sent);
      sent.push(request);
      const expected = await ask(machine, request, ours);
      const actual = await ask(redis, request, theirs);
      if (expected.outcome === "held") {
        // All copies: an earlier one may have been granted, to a holder that had the lease already.
        sent.splice(0, sent.length, ...sent.filter(({ op }) => op !== request.op));
      }
      told.push(`${JSON.stringify(request)} -> ${JSON.stringify(expected)}`);
      assert.deepEqual(actual, expected, `seed ${SEED}, run ${run}:\n${told.join("\n")}`);
    }
  }
});
