import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";
import { acquire, type Host, id, release } from "./host.ts";

let workers: Workers;

before(async () => {
  workers = await Workers.start({
    name: "host",
    entry: new URL("./test-worker.ts", import.meta.url),
    durableObjects: { LEASES: "TestHost" },
  });
});
after(() => workers.stop());

test("a key is granted once, then again after its release, with a higher fence", async () => {
  const host = await workers.object<Host>("LEASES", "basic");
  const first = await host.call(acquire("basic"));
  assert.equal(first.outcome, "granted");
  assert.equal(first.fence, "1");
  assert.equal(first.ttlMs, 9_500);

  const rival = await host.call(acquire("basic", { holder: "bob" }));
  assert.equal(rival.outcome, "held");
  assert.equal(rival.holder, "alice");

  const { lease } = first;
  assert.equal((await host.call(release("basic", { lease: id() }))).outcome, "not-holder");
  assert.equal((await host.call(release("basic", { lease }))).outcome, "released");
  const second = await host.call(acquire("basic"));
  assert.equal(second.fence, "2");
});
