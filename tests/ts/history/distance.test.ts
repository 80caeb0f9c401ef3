/** A lease that nobody threatens is not lost, however far its host is, as far as its term allows. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { type FarHost, farDurableObject, farRedis, isLost } from "./distance.ts";

const TTL_MS = 1_000;
const TERMS = 4;
const EACH = 3;

async function losesNothing(host: FarHost, share: number): Promise<void> {
  const holdings = [false, true].flatMap((waits) => {
    const roundTripMs = share * host.told(TTL_MS, waits);
    const holding = { ttlMs: TTL_MS, roundTripMs, waits, terms: TERMS };
    return Array.from({ length: EACH }, () => isLost(host, holding));
  });
  const lost = (await Promise.all(holdings)).filter(Boolean).length;
  assert.equal(lost, 0, `${lost} of ${holdings.length} were lost`);
}

for (const share of [0.2, 0.4]) {
  const name = `a round trip of ${share} of the term loses nothing, after a wait neither`;

  test(`the Durable Object: ${name}`, async () => {
    await using host = await farDurableObject();
    await losesNothing(host, share);
  });

  test(`Redis: ${name}`, async () => {
    await using server = await RedisServer.start();
    await using host = await farRedis(server);
    await losesNothing(host, share);
  });
}
