import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Fault } from "./faults.ts";
import { command, eventually, pipeline, request, suite } from "./harness.ts";

const redis = suite();

async function stored(key: string): Promise<string | null> {
  const reply = await redis.direct.send("GET", key);
  return reply.kind === "bulk" && reply.bytes ? String(reply.bytes) : null;
}

describe("what the client sees, and what was executed", () => {
  test("drop-before: a broken connection, nothing executed", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "drop-before" });
    await assert.rejects(command(endpoint, ["INCR", "n"]), TypeError);
    assert.equal(await stored("n"), null);
    assert.equal(endpoint.faults.count("drop-before"), 1);
    assert.equal((await command(endpoint, ["INCR", "n"])).text, '{"result":1}');
  });

  test("drop-after: a broken connection, executed once", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "drop-after" });
    await assert.rejects(command(endpoint, ["INCR", "n"]), TypeError);
    assert.equal(await stored("n"), "1");
    assert.equal(endpoint.faults.count("drop-after"), 1);
    assert.equal(endpoint.requests.all[0]?.status, undefined);
  });

  test("duplicate: executed twice, the second answered", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "duplicate" });
    const answer = await command(endpoint, ["SET", "k", "v", "NX"]);
    assert.equal(answer.text, '{"result":null}');
    assert.equal(await stored("k"), "v");
    assert.equal(endpoint.faults.count("duplicate"), 1);
  });

  test("delay-before: a client that gave up is served all the same", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "delay-before", ms: 800 });
    const signal = AbortSignal.timeout(50);
    const init = { method: "POST", body: '["SET","k","v"]', signal };
    await assert.rejects(request(endpoint, "/", init), { name: "TimeoutError" });
    assert.equal(await stored("k"), null);
    await eventually("the late request is executed", async () => (await stored("k")) === "v");
    assert.equal(endpoint.faults.count("delay-before"), 1);
  });

  test("delay-after: executed at once, answered late", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "delay-after", ms: 200 });
    const start = performance.now();
    const pending = command(endpoint, ["SET", "k", "v"]);
    await eventually("it is executed", async () => (await stored("k")) === "v");
    assert.equal(endpoint.requests.all[0]?.status, undefined);
    assert.equal((await pending).text, '{"result":"OK"}');
    assert.ok(performance.now() - start >= 195);
    assert.equal(endpoint.faults.count("delay-after"), 1);
  });

  test("truncate: the connection breaks inside the body", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "truncate", bytes: 5 });
    const response = await fetch(endpoint.url, {
      method: "POST",
      body: '["INCR","n"]',
      headers: { authorization: `Bearer ${endpoint.token}` },
    });
    assert.equal(response.status, 200);
    assert.equal(response.headers.get("content-length"), String('{"result":1}'.length));
    await assert.rejects(response.text(), { name: "TypeError", message: "terminated" });
    assert.equal(await stored("n"), "1");
  });

  test("truncate complete: a whole response with part of the JSON", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "truncate", complete: true });
    const answer = await command(endpoint, ["INCR", "n"]);
    assert.deepEqual([answer.status, answer.text], [200, '{"resu']);
    assert.equal(endpoint.faults.count("truncate"), 1);
  });

  test("hang: no answer, executed only if asked for", async () => {
    const endpoint = await redis.endpoint();
    for (const [after, value] of [
      [false, null],
      [true, "1"],
    ] as const) {
      const rule = endpoint.faults.add({ kind: "hang", after });
      const leave = new AbortController();
      const init = { method: "POST", body: '["INCR","n"]', signal: leave.signal };
      const hanging = assert.rejects(request(endpoint, "/", init), { name: "AbortError" });
      await eventually("it hangs", async () => rule.fired === 1 && (await stored("n")) === value);
      assert.equal(endpoint.requests.all.at(-1)?.status, undefined);
      leave.abort();
      await hanging;
    }
    assert.equal(endpoint.faults.count("hang"), 2);
  });

  test("status: any status as JSON, text or HTML, before or after execution", async () => {
    const endpoint = await redis.endpoint();
    const cases = [
      [429, "json", "application/json", /^\{"error":".*429"\}$/],
      [500, "text", "text/plain", /^[^<{]*500$/],
      [502, "html", "text/html", /^<!doctype html>.*502/],
      [503, "html", "text/html", /^<!doctype html>.*503/],
    ] as const;
    for (const [status, body, type, text] of cases) {
      endpoint.faults.add({ kind: "status", status, body });
      const answer = await command(endpoint, ["INCR", "n"]);
      assert.deepEqual([answer.status, answer.type], [status, type]);
      assert.match(answer.text, text);
    }
    assert.equal(await stored("n"), null);
    endpoint.faults.add({ kind: "status", status: 502, body: "html", after: true });
    assert.equal((await command(endpoint, ["INCR", "n"])).status, 502);
    assert.equal(await stored("n"), "1");
    assert.equal(endpoint.faults.count("status"), 5);
  });

  test("empty: 204 without a body", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "empty" });
    const answer = await command(endpoint, ["INCR", "n"]);
    assert.deepEqual(answer, { status: 204, type: null, text: "" });
    assert.equal(await stored("n"), null);
    assert.equal(endpoint.faults.count("empty"), 1);
  });

  test("quota: a Redis-style error with a status that is not 2xx", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "quota", limit: "daily" });
    endpoint.faults.add({ kind: "quota", limit: "requests", status: 429 });
    const daily = await pipeline(endpoint, [["INCR", "n"]]);
    assert.equal(daily.status, 400);
    assert.match(daily.text, /^\{"error":"ERR max daily request limit exceeded\. Limit: /);
    const monthly = await command(endpoint, ["INCR", "n"]);
    assert.equal(monthly.status, 429);
    assert.match(monthly.text, /^\{"error":"ERR max requests limit exceeded\. Limit: /);
    assert.equal(await stored("n"), null);
    assert.equal(endpoint.faults.count("quota"), 2);
  });

  test("script-flush: EVALSHA meets NOSCRIPT, each time in a batch", async () => {
    const endpoint = await redis.endpoint();
    const load = await command(endpoint, ["SCRIPT", "LOAD", "return 'ran'"]);
    const sha = load.text.slice('{"result":"'.length, -'"}'.length);
    const rule = endpoint.faults.add({ kind: "script-flush" });
    assert.equal((await command(endpoint, ["PING"])).text, '{"result":"PONG"}');
    assert.equal(rule.fired, 0);
    const batch = [["EVAL", "return 'ran'", 0], ["EVALSHA", sha, 0], ["PING"]];
    assert.equal(
      (await pipeline(endpoint, batch)).text,
      '[{"result":"ran"},{"error":"NOSCRIPT No matching script. Please use EVAL."},{"result":"PONG"}]',
    );
    assert.equal(endpoint.faults.count("script-flush"), 1);
  });

  test("read-only-replica: writes and scripts fail, reads go on", async () => {
    const endpoint = await redis.endpoint();
    await redis.direct.send("SET", "k", "v");
    endpoint.faults.add({ kind: "read-only-replica" }, { times: 2 });
    const error = "READONLY You can't write against a read only replica.";
    const single = await command(endpoint, ["EVAL", "return 1", 0]);
    assert.deepEqual([single.status, single.text], [400, JSON.stringify({ error })]);
    const batch = await pipeline(endpoint, [
      ["SET", "k", "w"],
      ["GET", "k"],
    ]);
    assert.equal(batch.text, JSON.stringify([{ error }, { result: "v" }]));
    assert.equal(endpoint.faults.count("read-only-replica"), 2);
  });

  test("reply-error: a given error for each command, unexecuted", async () => {
    const endpoint = await redis.endpoint();
    const error = "NOPERM scripts are disabled";
    endpoint.faults.add({ kind: "reply-error", error }, { times: 2 });
    const single = await command(endpoint, ["INCR", "n"]);
    assert.deepEqual([single.status, single.text], [400, JSON.stringify({ error })]);
    const batch = [
      ["INCR", "n"],
      ["INCR", "n"],
    ];
    assert.equal((await pipeline(endpoint, batch)).text, JSON.stringify([{ error }, { error }]));
    assert.equal(await stored("n"), null);
    assert.equal(endpoint.faults.count("reply-error"), 2);
  });

  test("throttle: commands over the rate wait, none is refused", async () => {
    const endpoint = await redis.endpoint();
    endpoint.throttle(50);
    const start = performance.now();
    const calls = Array.from({ length: 11 }, () => command(endpoint, ["INCR", "n"]));
    for (const answer of await Promise.all(calls)) assert.equal(answer.status, 200);
    // The first goes at once, the others 20 ms apart.
    assert.ok(performance.now() - start >= 195);
    // A command that comes late on a busy machine has nothing to wait for.
    const waited = endpoint.faults.count("throttle");
    assert.ok(waited > 0 && waited <= 10, `${waited} waited`);
    endpoint.throttle(Infinity);
    await command(endpoint, ["INCR", "n"]);
    assert.equal(endpoint.faults.count("throttle"), waited);
  });
});

describe("which requests a rule meets", () => {
  const empty: Fault = { kind: "empty" };
  const statuses = async (
    endpoint: Awaited<ReturnType<typeof redis.endpoint>>,
    names: readonly string[],
  ) => {
    const seen: number[] = [];
    for (const name of names) seen.push((await command(endpoint, [name, "k"])).status);
    return seen;
  };

  test("by command name, skip and times", async () => {
    const endpoint = await redis.endpoint();
    const rule = endpoint.faults.add(empty, { command: ["get", "DEL"], skip: 1, times: 2 });
    const seen = await statuses(endpoint, ["GET", "incr", "get", "INCR", "del", "GET"]);
    assert.deepEqual(seen, [200, 200, 204, 200, 204, 200]);
    assert.equal(rule.fired, 2);
  });

  test("by predicate, until removed", async () => {
    const endpoint = await redis.endpoint();
    const where = ({ index }: { index: number }) => index % 2 === 0;
    const rule = endpoint.faults.add(empty, { where, times: Infinity });
    assert.deepEqual(await statuses(endpoint, ["GET", "GET", "GET", "GET"]), [200, 204, 200, 204]);
    rule.remove();
    assert.deepEqual(await statuses(endpoint, ["GET", "GET"]), [200, 200]);
  });

  test("by chance, the same with the same seed", async () => {
    const runs: string[] = [];
    for (const seed of [7, 7, 8]) {
      const endpoint = await redis.endpoint({ seed });
      endpoint.faults.add(empty, { probability: 0.3 });
      runs.push(
        (
          await statuses(
            endpoint,
            Array.from({ length: 100 }, () => "GET"),
          )
        ).join(),
      );
      const fired = endpoint.faults.count("empty");
      assert.ok(fired > 10 && fired < 55, `fired ${fired} of 100`);
    }
    assert.equal(runs[0], runs[1]);
    assert.notEqual(runs[0], runs[2]);
  });

  test("several faults meet one request; what ends it comes last", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "duplicate" });
    endpoint.faults.add({ kind: "drop-after" });
    const later = endpoint.faults.add(empty);
    await assert.rejects(command(endpoint, ["INCR", "n"]), TypeError);
    assert.equal(await stored("n"), "2");
    assert.deepEqual(endpoint.requests.all[0]?.faults, ["duplicate", "drop-after"]);
    assert.equal(later.fired, 0);
    endpoint.faults.clear();
    assert.equal((await command(endpoint, ["GET", "n"])).text, '{"result":"2"}');
  });
});

describe("faults of the data", () => {
  test("failover: writes since the checkpoint are lost, with the script cache", async () => {
    const endpoint = await redis.endpoint();
    await redis.direct.sendAll([
      ["SET", "kept", "old"],
      ["SET", "deleted later", "x", "PX", "100000"],
      ["HSET", "hash", "field", "1"],
    ]);
    const sha = (await command(endpoint, ["SCRIPT", "LOAD", "return 1"])).text.slice(11, -2);
    const checkpoint = await endpoint.checkpoint();
    await pipeline(endpoint, [
      ["SET", "kept", "new"],
      ["DEL", "deleted later"],
      ["SET", "lost", 1],
    ]);
    await endpoint.rollBack(checkpoint);
    const answer = await pipeline(endpoint, [
      ["GET", "kept"],
      ["GET", "deleted later"],
      ["HGET", "hash", "field"],
      ["EXISTS", "lost"],
      ["TTL", "kept"],
    ]);
    assert.equal(
      answer.text,
      '[{"result":"old"},{"result":"x"},{"result":"1"},{"result":0},{"result":-1}]',
    );
    const { text } = await command(endpoint, ["PTTL", "deleted later"]);
    const left = JSON.parse(text).result;
    assert.ok(left > 90_000 && left <= 100_000, text);
    assert.match((await command(endpoint, ["EVALSHA", sha, 0])).text, /NOSCRIPT/);
    assert.equal(endpoint.faults.count("failover"), 1);
  });

  test("eviction: keys with a TTL go, if they match", async () => {
    const endpoint = await redis.endpoint();
    await redis.direct.sendAll([
      ["SET", "lock:a", "x", "PX", "100000"],
      ["SET", "lock:fence", "7"],
      ["SET", "other", "x", "PX", "100000"],
    ]);
    assert.deepEqual(await endpoint.evict("lock:*"), ["lock:a"]);
    const left = await pipeline(endpoint, [
      ["EXISTS", "lock:a"],
      ["GET", "lock:fence"],
      ["GET", "other"],
    ]);
    assert.equal(left.text, '[{"result":0},{"result":"7"},{"result":"x"}]');
    assert.equal(endpoint.faults.count("eviction"), 1);
  });
});
