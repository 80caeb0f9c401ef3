import assert from "node:assert/strict";
import { test } from "node:test";
import { command, pipeline, suite } from "./harness.ts";

const redis = suite();

test("each command counts one, in pipelines and scripts alike", async () => {
  const endpoint = await redis.endpoint();
  const script =
    "#!lua flags=allow-key-locking\nredis.call('INCR', KEYS[1]) return redis.call('PEXPIRE', KEYS[1], 1000)";
  const evaluated = await endpoint.commands.during(() =>
    command(endpoint, ["EVAL", script, 1, "n"]),
  );
  assert.deepEqual(evaluated, {
    sent: 1,
    inScript: 2,
    total: 3,
    byName: { eval: 1, incr: 1, pexpire: 1 },
  });
  const batches = await endpoint.commands.during(async () => {
    await pipeline(endpoint, [
      ["GET", "a"],
      ["get", "b"],
    ]);
    await command(endpoint, ["SET", "a", 1]);
  });
  assert.deepEqual(batches, { sent: 3, inScript: 0, total: 3, byName: { get: 2, set: 1 } });
});

test("refused and dropped requests are free, a duplicated one costs twice", async () => {
  const endpoint = await redis.endpoint();
  const refused = await endpoint.commands.during(() => command(endpoint, ["WATCH", "k"]));
  assert.equal(refused.total, 0);
  endpoint.faults.add({ kind: "duplicate" });
  const duplicated = await endpoint.commands.during(() => command(endpoint, ["INCR", "n"]));
  assert.deepEqual(duplicated.byName, { incr: 2 });
  endpoint.faults.add({ kind: "drop-before" });
  const dropped = await endpoint.commands.during(() =>
    command(endpoint, ["INCR", "n"]).catch(() => {}),
  );
  assert.equal(dropped.total, 0);
});

test("the request log tells what each request was and met", async () => {
  const endpoint = await redis.endpoint({ token: "s3cret" });
  endpoint.faults.add({ kind: "quota", limit: "daily", status: 429 }, { command: "incr" });
  await command(endpoint, ["SET", "k", "v"], { "x-mark": "1" });
  await command(endpoint, ["INCR", "n"]);
  const [first, second] = endpoint.requests.all;
  assert.deepEqual(
    [
      first?.index,
      first?.method,
      first?.path,
      first?.shape,
      first?.commands,
      first?.status,
      first?.faults,
    ],
    [1, "POST", "/", "single", [["SET", "k", "v"]], 200, []],
  );
  assert.equal(first?.headers["x-mark"], "1");
  assert.deepEqual([second?.index, second?.status, second?.faults], [2, 429, ["quota"]]);
  assert.deepEqual(endpoint.requests.withCommand("incr"), [second]);
  assert.doesNotMatch(JSON.stringify(endpoint.requests.all), /s3cret/);
  endpoint.requests.clear();
  assert.deepEqual([endpoint.requests.all.length, endpoint.requests.total], [0, 2]);
});
