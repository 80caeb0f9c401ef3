/** The client where it runs most: in a handler, in workerd. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";
import { FENCE, rise } from "./host.ts";

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
  const { fence, held } = await call("work");
  assert.match(String(fence), FENCE);
  assert.equal(held, true);
});

test("handlers of one isolate share a client and take turns", async () => {
  const all = await Promise.all(["work", "work", "work"].map((name) => call(name, "turns")));
  assert.ok(rise(...all.map(({ fence }) => String(fence)).sort()));
});

test("a lease abandoned by its handler is not renewed and ends with its term", async () => {
  const first = await call("abandon");
  // A second invocation waits its turn: the isolate is as good as new.
  const second = await call("work", "abandon");
  assert.equal(second.held, true);
  assert.ok(rise(String(first.fence), String(second.fence)));
  assert.deepEqual(await call("told"), [], "nothing ran on behalf of the first");
});

for (const [handler, by] of [
  ["hurry", "the runtime's waitUntil, without being told"],
  ["hurryByContext", "the context's waitUntil"],
  ["hurryUnbound", "a waitUntil that has lost its context"],
] as const) {
  test(`a release that is not awaited outlives the handler by ${by}`, async () => {
    assert.match(String((await call(handler)).fence), FENCE);
    const deadline = Date.now() + 1_000;
    while ((await call("inspect", handler)).held) {
      assert.ok(Date.now() < deadline, "still held a second later");
    }
  });
}

test("a revoked lease is lost at the next word from the host", async () => {
  assert.deepEqual(await call("revoked"), { code: "LOST", aborted: true, held: false });
});
