import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, test } from "node:test";
import { command, pipeline, request, suite } from "./harness.ts";

const redis = suite();
const start = redis.endpoint;
const WRONGPASS = '{"error":"WRONGPASS invalid or missing auth token"}';

describe("authentication", () => {
  test("a missing or wrong token gets a JSON 401 on every route", async () => {
    const endpoint = await start();
    for (const path of ["/", "/pipeline", "/subscribe/c"]) {
      for (const authorization of ["", "Bearer wrong", endpoint.token]) {
        const answer = await request(endpoint, path, {
          method: "POST",
          headers: { authorization },
        });
        assert.deepEqual(
          [answer.status, answer.type, answer.text],
          [401, "application/json", WRONGPASS],
        );
      }
    }
    assert.equal(endpoint.requests.all[0]?.shape, undefined);
  });

  test("the read-only token reads, and neither writes, scans nor runs scripts", async () => {
    const endpoint = await start({ readOnlyToken: "reader" });
    await command(endpoint, ["SET", "k", "v"]);
    const headers = { authorization: "Bearer reader" };
    assert.equal((await command(endpoint, ["GET", "k"], headers)).text, '{"result":"v"}');
    const refused = [
      ["set", "k", "w"],
      ["eval", "return 1", "0"],
      ["EVALSHA", "00", "0"],
      ["scan", "0"],
      ["keys", "*"],
    ];
    for (const words of refused) {
      const answer = await command(endpoint, words, headers);
      const name = words[0]?.toLowerCase();
      const error = `NOPERM this user has no permissions to run the '${name}' command`;
      assert.deepEqual([answer.status, answer.text], [400, JSON.stringify({ error })]);
    }
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"v"}');
  });
});

describe("refusals", () => {
  test("methods other than POST get 405", async () => {
    const endpoint = await start();
    const calls = [
      ["DELETE", "/pipeline"],
      ["PATCH", "/"],
      ["GET", "/"],
      ["GET", "/subscribe/c"],
    ];
    for (const [method = "", path = ""] of calls) {
      const answer = await request(endpoint, path, { method });
      assert.deepEqual(
        [answer.status, answer.type],
        [405, "application/json"],
        `${method} ${path}`,
      );
    }
  });

  test("a body that is not a command gets a JSON 400", async () => {
    const endpoint = await start();
    const single = ["", "{", "[]", "{}", "null", '["GET",null]', '["GET",["k"]]', '["GET",true]'];
    const many = ["", "[]", '["GET","k"]', '[["GET","k"],[]]', '[["GET",{}]]'];
    const calls = [
      ...single.map((body) => ["/", body]),
      ...many.map((body) => ["/pipeline", body]),
    ];
    for (const [path = "", body = ""] of calls) {
      const answer = await request(endpoint, path, { method: "POST", body });
      assert.equal(answer.status, 400, `${path} ${body}`);
      assert.match(answer.text, /^\{"error":"ERR failed to parse/);
    }
    assert.equal((await request(endpoint, "/get/k", { method: "POST" })).status, 400);
  });

  test("commands that need a connection of their own are refused by name", async () => {
    const endpoint = await start();
    const refused = [
      ["BLPOP", "l", 0],
      ["bzpopmin", "z", 0],
      ["XREAD", "COUNT", 1, "BLOCK", 5, "STREAMS", "s", 0],
      ["SUBSCRIBE", "c"],
      ["MONITOR"],
      ["WATCH", "k"],
      ["MULTI"],
      ["EXEC"],
      ["SELECT", 1],
      ["CLIENT", "LIST"],
      ["HELLO", 3],
      ["SHUTDOWN"],
      ["CONFIG", "GET", "*"],
      ["CONFIG", "SET", "maxmemory", 1],
      ["CONFIG", "SET", "notify-keyspace-events", "KEA", "maxmemory", 1],
    ];
    for (const words of refused) {
      const error = `ERR Command is not available: '${String(words[0]).toUpperCase()}'`;
      const answer = await command(endpoint, words);
      assert.deepEqual([answer.status, answer.text], [400, JSON.stringify({ error })]);
    }
    const fine = ["CONFIG", "SET", "notify-keyspace-events", ""];
    assert.equal((await command(endpoint, fine)).text, '{"result":"OK"}');
    const stream = ["XREAD", "STREAMS", "block", 0];
    assert.equal((await command(endpoint, stream)).text, '{"result":null}');
    assert.match((await command(endpoint, ["SCRIPT", "KILL"])).text, /"NOTBUSY /);
  });

  test("a command that fails answers its error with 400", async () => {
    const endpoint = await start();
    await command(endpoint, ["LPUSH", "list", "x"]);
    const error = "WRONGTYPE Operation against a key holding the wrong kind of value";
    const answer = await command(endpoint, ["GET", "list"]);
    assert.deepEqual([answer.status, answer.text], [400, JSON.stringify({ error })]);
  });
});

test("a client that leaves inside its body is not served, the next one is", async () => {
  const endpoint = await start();
  const socket = connect(Number(new URL(endpoint.url).port), "127.0.0.1");
  const head = `POST / HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${endpoint.token}\r\n`;
  socket.write(`${head}content-length: 100\r\n\r\n["SET","k"`);
  await once(socket, "connect");
  socket.resetAndDestroy();
  assert.equal((await command(endpoint, ["EXISTS", "k"])).text, '{"result":0}');
  assert.equal(endpoint.requests.total, 1);
});

describe("batches", () => {
  test("a pipeline answers each command on its own", async () => {
    const endpoint = await start();
    const answer = await pipeline(endpoint, [
      ["SET", "k", "v"],
      ["INCR", "k"],
      ["BLPOP", "l", 0],
      ["GET", "k"],
    ]);
    assert.equal(answer.status, 200);
    assert.equal(
      answer.text,
      '[{"result":"OK"},{"error":"ERR value is not an integer or out of range"},' +
        '{"error":"ERR Command is not available: \'BLPOP\'"},{"result":"v"}]',
    );
  });
});

describe("encodings", () => {
  const base64 = { "upstash-encoding": "base64" };

  test("integers come and go exactly", async () => {
    const endpoint = await start();
    const body = '["SET","n",9007199254740992]';
    await request(endpoint, "/", { method: "POST", body });
    assert.equal((await command(endpoint, ["INCR", "n"])).text, '{"result":9007199254740993}');
    assert.equal((await command(endpoint, ["GET", "n"])).text, '{"result":"9007199254740993"}');
    const script = "return {redis.call('INCR', KEYS[1])}";
    assert.equal(
      (await command(endpoint, ["EVAL", script, 1, "n"])).text,
      '{"result":[9007199254740994]}',
    );
    const low = '["SET","low",-9223372036854775807]';
    await request(endpoint, "/", { method: "POST", body: low });
    assert.equal(
      (await command(endpoint, ["DECR", "low"])).text,
      '{"result":-9223372036854775808}',
    );
  });

  test("base64 covers every string but the OK reply; errors stay plain", async () => {
    const endpoint = await start();
    assert.equal((await command(endpoint, ["SET", "k", "bar"], base64)).text, '{"result":"OK"}');
    assert.equal((await command(endpoint, ["GET", "k"], base64)).text, '{"result":"YmFy"}');
    assert.equal(
      (await command(endpoint, ["MGET", "k", "none"], base64)).text,
      '{"result":["YmFy",null]}',
    );
    assert.equal((await command(endpoint, ["SET", "ok", "OK"], base64)).text, '{"result":"OK"}');
    assert.equal((await command(endpoint, ["GET", "ok"], base64)).text, '{"result":"T0s="}');
    assert.equal((await command(endpoint, ["PING"], base64)).text, '{"result":"UE9ORw=="}');
    assert.match(
      (await command(endpoint, ["INCR", "k"], base64)).text,
      /"error":"ERR value is not/,
    );
  });

  test("without base64, bytes that are not UTF-8 become the replacement character", async () => {
    const endpoint = await start();
    await redis.direct.send("SET", "k", Buffer.of(0x61, 0xff, 0x62));
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"a\uFFFDb"}');
  });
});
