/** Short invocations, in workerd: cut off in mid-work, streaming on, one lease over several. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";

let workers: Workers;

async function ask(handler: string, key: string, handle?: unknown): Promise<Response> {
  const url = new URL(`/${handler}?key=${key}`, await workers.url());
  const init = handle === undefined ? {} : { method: "POST", body: JSON.stringify(handle) };
  return await fetch(url, init);
}

async function told(handler: string, key: string, handle?: unknown) {
  const response = await ask(handler, key, handle);
  return (await response.json()) as { fence: string; handle: unknown; held: boolean };
}

const isHeld = async (key: string) => (await told("inspect", key)).held;

before(async () => {
  workers = await Workers.start({
    name: "invocations",
    entry: new URL("./invocations-worker.ts", import.meta.url),
    durableObjects: { LEASES: "LeaseHost" },
  });
});
after(() => workers.stop());

test("a client that disconnects in mid-work: the work is stopped and the lease given back", async () => {
  assert.deepEqual(await told("disconnected", "gone"), { outcome: "client gone" });
  assert.equal(await isHeld("gone"), false);
});

test("a response that streams on after its handler keeps the lease until the stream ends", async () => {
  const response = await ask("stream", "body");
  assert.equal(await isHeld("body"), true);
  const parts = [1, 2, 3, 4].map((part) => `part ${part} under `);
  const lines = (await response.text()).trimEnd().split("\n");
  assert.deepEqual(
    lines.map((line) => line.replace(/\d+$/, "")),
    parts,
  );
  assert.equal(new Set(lines.map((line) => /\d+$/.exec(line)?.[0])).size, 1, "one fence");
  assert.equal(await isHeld("body"), false);
});

test("one lease over three invocations: each has a higher fence, and the key is never free", async () => {
  const first = await told("begin", "job");
  assert.equal(await isHeld("job"), true);
  const second = await told("step", "job", first.handle);
  assert.equal(await isHeld("job"), true);
  const third = await told("finish", "job", second.handle);
  assert.ok(BigInt(first.fence) < BigInt(second.fence));
  assert.ok(BigInt(second.fence) < BigInt(third.fence));
  assert.equal(await isHeld("job"), false);
});

test("a step that is run again with its used handle holds alone, under a higher fence", async () => {
  const first = await told("begin", "retried");
  const cutOff = await told("step", "retried", first.handle);
  const again = await told("step", "retried", first.handle);
  assert.ok(BigInt(cutOff.fence) < BigInt(again.fence));
  // What the run that was cut off left behind opens nothing any more: whoever has it has to wait.
  const last = await told("finish", "retried", again.handle);
  assert.ok(BigInt(again.fence) < BigInt(last.fence));
});
