/** Any request at all over HTTPS gets a documented answer, and the host goes on. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Rng } from "../history/rng.ts";
import { Workers } from "./harness.ts";
import { acquire } from "./host.ts";

const SEED = Number(process.env.LEASEHOLD_SEED ?? Math.floor(Math.random() * 2 ** 31));
const REQUESTS = 1_500;
const TOKEN = "a-token-for-the-fuzzing";
const STATUSES = new Set([200, 400, 401, 403, 404, 405, 413]);
const WORDS = ["acquire", "renew", "inspect", "", "..", "%00", "constructor", "__proto__"];
const VALUES = [null, 0, -1, 1.5, 2 ** 53, true, "", "a", "\0", "é", [], {}, "f".repeat(32)];
const FIELDS = ["v", "operation", "key", "op", "holder", "lease", "ttlMs", "waitMs", "toLease"];

function body(rng: Rng): string {
  switch (rng.between(0, 4)) {
    case 0:
      return Array.from({ length: rng.between(0, 60) }, () =>
        String.fromCharCode(rng.between(0, 0x300)),
      ).join("");
    case 1:
      return JSON.stringify(rng.pick(VALUES));
    default: {
      const record: Record<string, unknown> = { ...acquire("fuzzed") };
      for (let changes = rng.between(1, 4); changes > 0; changes -= 1) {
        record[rng.pick(FIELDS)] = rng.pick(VALUES);
      }
      return JSON.stringify(record);
    }
  }
}

test(`${REQUESTS} random requests, seed ${SEED}`, { timeout: 120_000 }, async () => {
  await using workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN },
  });
  const url = await workers.url();
  const rng = new Rng(SEED);
  const seen = new Set<number>();
  for (let index = 0; index < REQUESTS; index += 1) {
    const method = rng.pick(["POST", "POST", "POST", "POST", "GET", "PUT", "DELETE"]);
    const authorization = rng.pick([
      `Bearer ${TOKEN}`,
      `Bearer ${TOKEN}`,
      "Bearer x",
      "Basic eA==",
    ]);
    const path = rng.pick([
      `/v1/${rng.pick(WORDS)}`,
      "/v1/acquire",
      "/v1/acquire",
      `/${rng.pick(WORDS)}`,
    ]);
    const sent = method === "GET" ? undefined : body(rng);
    const response = await fetch(new URL(path, url), {
      method,
      headers: { authorization },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    const what = `seed ${SEED}: ${method} ${path} ${sent}: ${response.status} ${text}`;
    assert.ok(STATUSES.has(response.status), what);
    assert.doesNotThrow(() => JSON.parse(text), what);
    assert.ok(!text.includes(TOKEN), what);
    seen.add(response.status);
  }
  assert.ok(seen.size >= 5, `only ${[...seen].join(", ")}`);
  const response = await fetch(new URL("/v1/acquire", url), {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify(acquire("afterwards")),
  });
  assert.equal(((await response.json()) as { outcome: string }).outcome, "granted");
});
