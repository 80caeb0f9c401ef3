/** The client where it runs most: in a handler, in workerd. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";

let workers: Workers;

async function call(handler: string, key = handler): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(`/${handler}?key=${key}`, await workers.url()));
  return (await response.json()) as Record<string, unknown>;
}

before(async () => {
  workers = await Workers.start({
    name: "client",
    entry: new URL("./client-worker.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost" },
  });
});
after(() => workers.stop());

test("a lease is renewed for as long as its handler works", async () => {
  assert.deepEqual(await call("work"), { fence: "1", held: true });
});

test("handlers of one isolate share a client and take turns", async () => {
  const all = await Promise.all(["work", "work", "work"].map((name) => call(name, "turns")));
  assert.deepEqual(all.map(({ fence }) => fence).sort(), ["1", "2", "3"]);
});

test("a lease abandoned by its handler is not renewed and ends with its term", async () => {
  assert.deepEqual(await call("abandon"), { fence: "1" });
  // A second invocation waits its turn: the isolate is as good as new.
  assert.deepEqual(await call("work", "abandon"), { fence: "2", held: true });
  assert.deepEqual(await call("told"), [], "nothing ran on behalf of the first");
});

for (const [handler, by] of [
  ["hurry", "the runtime's waitUntil, without being told"],
  ["hurryByContext", "the context's waitUntil"],
  ["hurryUnbound", "a waitUntil that has lost its context"],
] as const) {
  test(`a release that is not awaited outlives the handler by ${by}`, async () => {
    assert.deepEqual(await call(handler), { fence: "1" });
    const deadline = Date.now() + 1_000;
    while ((await call("inspect", handler)).held) {
      assert.ok(Date.now() < deadline, "still held a second later");
    }
  });
}

test("a revoked lease is lost at the next word from the host", async () => {
  assert.deepEqual(await call("revoked"), { code: "LOST", aborted: true, held: false });
});
