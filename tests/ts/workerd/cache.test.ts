/** Where values are kept on Workers, and where they are not. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";

let workers: Workers;

async function call(path: string): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(path, await workers.url()));
  return (await response.json()) as Record<string, unknown>;
}

before(async () => {
  workers = await Workers.start({
    name: "cache",
    entry: new URL("./cache-worker.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost", STORE: "Store", READERS: "Reader" },
  });
});
after(() => workers.stop());

test("a Worker's requests load each time, and say that nothing is kept", async () => {
  for (let request = 1; request <= 3; request += 1) {
    assert.deepEqual(await call("/worker"), { keeps: false, value: 0 });
    assert.deepEqual(await call("/loads"), { loads: request });
  }
});

test("an object keeps it from request to request, for longer than a term, until it is written", async () => {
  const { loads } = (await call("/loads")) as { loads: number };
  const until = Date.now() + 4_000;
  while (Date.now() < until) {
    assert.deepEqual(await call("/object"), { value: 0 });
    await new Promise((wake) => setTimeout(wake, 200));
  }
  assert.deepEqual(await call("/loads"), { loads: loads + 1 });

  const begun = Date.now();
  assert.deepEqual(await call("/write?value=7"), { written: true });
  assert.ok(Date.now() - begun < 2_500, "recalled before its term ended");
  assert.deepEqual(await call("/object"), { value: 7 });
  assert.deepEqual(await call("/worker"), { keeps: false, value: 7 });
});
