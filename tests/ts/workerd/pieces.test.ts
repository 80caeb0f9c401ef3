/** What is built on leases, where requests come and go. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";

let workers: Workers;

const ask = async (path: string) => fetch(new URL(path, await workers.url()));
const told = async (path: string) => (await ask(path)).json();

before(async () => {
  workers = await Workers.start({
    name: "pieces",
    entry: new URL("./pieces-worker.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost", CANDIDATES: "Candidate" },
  });
});
after(() => workers.stop());

test("a leadership that a request has won ends with its term, one of an object goes on", async () => {
  assert.deepEqual(await told("/win/a-request"), { won: true });
  assert.deepEqual(await told("/leader"), { value: "a-request" });
  assert.deepEqual(await told("/stand/anna"), { won: true });
  const until = Date.now() + 3_000;
  while (Date.now() < until) {
    assert.deepEqual(await told("/leads/anna"), { leads: true });
    assert.deepEqual(await told("/leader"), { value: "anna" });
    await new Promise((wake) => setTimeout(wake, 200));
  }
  await told("/resign/anna");
  assert.deepEqual(await told("/leader"), { value: null });
  assert.deepEqual(await told("/leads/anna"), { leads: false });
});

test("a synchronized function answers the second request with 409", async () => {
  const both = await Promise.all([ask("/ship/42"), ask("/ship/42")]);
  const [served, refused] = both.sort((one, other) => one.status - other.status);
  assert.deepEqual(await served?.json(), { said: "shipped 42" });
  assert.equal(refused?.status, 409);
  assert.match(refused?.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
});

test("work that three requests ask for is done once", async () => {
  const results = await Promise.all([1, 2, 3].map(() => told("/once/report")));
  assert.equal(new Set(results.map((each) => JSON.stringify(each))).size, 1);
});

test("requests that want two keys in either order take turns", async () => {
  const all = await Promise.all(["ab", "ba", "ab", "ba"].map((keys) => told(`/both/${keys}`)));
  for (const each of all) assert.deepEqual(each, { keys: ["a", "b"] });
});

test("Web Locks: each request has a manager of its own", async () => {
  const all = await Promise.all([1, 2, 3].map(() => told("/lock/printer")));
  for (const each of all) assert.deepEqual(each, { name: "printer", aborted: false });
});
