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
    const routes = ["/", "/get/k", "/pipeline", "/multi-exec", "/subscribe/c", "/psubscribe/c"];
    for (const path of [...routes, "/monitor", "/?_token=wrong"]) {
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

  test("the token may come as a query parameter, which is no argument", async () => {
    const endpoint = await start({ token: "s3cret" });
    const headers = { authorization: "" };
    const path = "/set/foo/bar?PX=100000&_token=s3cret";
    assert.equal((await request(endpoint, path, { headers })).text, '{"result":"OK"}');
    assert.equal((await command(endpoint, ["GET", "foo"])).text, '{"result":"bar"}');
    assert.doesNotMatch(JSON.stringify(endpoint.requests.all), /s3cret/);
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
    assert.equal((await request(endpoint, "/monitor", { method: "POST", headers })).status, 400);
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"v"}');
  });
});

describe("path form", () => {
  test("arguments are percent-decoded and may hold any byte", async () => {
    const endpoint = await start();
    assert.equal((await request(endpoint, "/set/a%2Fb%20c/%F0%9F%94%92")).text, '{"result":"OK"}');
    assert.equal((await request(endpoint, "/get/a%2Fb%20c")).text, '{"result":"🔒"}');
    await request(endpoint, "/set/bytes/%FF%00");
    const headers = { "upstash-encoding": "base64" };
    assert.equal((await request(endpoint, "/get/bytes", { headers })).text, '{"result":"/wA="}');
  });

  test("a body is the last argument, query parameters follow it", async () => {
    const endpoint = await start();
    for (const method of ["POST", "PUT"]) {
      const path = `/set/${method}?EX=100&NX`;
      assert.equal(
        (await request(endpoint, path, { method, body: "the value" })).text,
        '{"result":"OK"}',
      );
      assert.equal(
        (await request(endpoint, path, { method, body: "other" })).text,
        '{"result":null}',
      );
      assert.equal((await request(endpoint, `/get/${method}`)).text, '{"result":"the value"}');
      assert.equal((await request(endpoint, `/ttl/${method}`)).text, '{"result":100}');
    }
  });

  test("HEAD executes and answers without a body", async () => {
    const endpoint = await start();
    const answer = await request(endpoint, "/incr/n", { method: "HEAD" });
    assert.deepEqual([answer.status, answer.text], [200, ""]);
    assert.equal((await request(endpoint, "/get/n")).text, '{"result":"1"}');
  });
});

describe("refusals", () => {
  test("other methods get 405, also where a route takes POST only", async () => {
    const endpoint = await start();
    const calls = [
      ["DELETE", "/get/k"],
      ["PATCH", "/"],
      ["GET", "/"],
      ["GET", "/pipeline"],
      ["PUT", "/multi-exec"],
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
      ...["/pipeline", "/multi-exec"].flatMap((path) => many.map((body) => [path, body])),
    ];
    for (const [path = "", body = ""] of calls) {
      const answer = await request(endpoint, path, { method: "POST", body });
      assert.equal(answer.status, 400, `${path} ${body}`);
      assert.match(answer.text, /^\{"error":"ERR failed to parse/);
    }
    assert.equal((await request(endpoint, "/get/%zz")).status, 400);
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

  test("a body over the limit gets 413 and is not executed", async () => {
    const endpoint = await start({ maxRequestBytes: 1000 });
    const answer = await command(endpoint, ["SET", "big", "x".repeat(1000)]);
    assert.deepEqual(
      [answer.status, answer.text],
      [413, '{"error":"ERR max request size exceeded. Limit: 1000 bytes"}'],
    );
    assert.equal((await command(endpoint, ["EXISTS", "big"])).text, '{"result":0}');
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

  test("a transaction keeps what precedes a runtime error and follows it", async () => {
    const endpoint = await start();
    const commands = [
      ["SET", "k", "v"],
      ["INCR", "k"],
      ["SET", "after", 1],
    ];
    const answer = await pipeline(endpoint, commands, "/multi-exec");
    assert.deepEqual(
      [answer.status, answer.text],
      [
        200,
        '[{"result":"OK"},{"error":"ERR value is not an integer or out of range"},{"result":"OK"}]',
      ],
    );
  });

  test("a transaction with a bad command is discarded whole, with one error", async () => {
    const endpoint = await start();
    for (const [bad, error] of [
      [["GET"], "ERR wrong number of arguments for 'get' command"],
      [["WATCH", "k"], "ERR Command is not available: 'WATCH'"],
    ] as const) {
      const answer = await pipeline(endpoint, [["SET", "k", "v"], bad], "/multi-exec");
      assert.deepEqual([answer.status, answer.text], [400, JSON.stringify({ error })]);
    }
    assert.equal((await command(endpoint, ["EXISTS", "k"])).text, '{"result":0}');
  });

  test("transactions in parallel with single commands do not mix", async () => {
    const endpoint = await start();
    const calls = Array.from({ length: 30 }, async (_, index) => {
      const block = [
        ["INCR", "n"],
        ["SET", `k${index}`, index],
        ["DECR", "n"],
      ];
      const [atomic, single] = await Promise.all([
        pipeline(endpoint, block, "/multi-exec"),
        command(endpoint, ["GET", "n"]),
      ]);
      assert.equal(atomic.text, '[{"result":1},{"result":"OK"},{"result":0}]');
      assert.match(single.text, /^\{"result":(null|"0")\}$/);
    });
    await Promise.all(calls);
  });

  test("WAIT in a pipeline holds up nobody else", async () => {
    const endpoint = await start();
    const order: string[] = [];
    const waiting = pipeline(endpoint, [
      ["SET", "k", "v"],
      ["WAIT", 1, 1000],
    ]).then((answer) => {
      order.push("wait");
      return answer.text;
    });
    const reading = command(endpoint, ["GET", "other"]).then(() => order.push("get"));
    await Promise.all([waiting, reading]);
    assert.deepEqual(order, ["get", "wait"]);
    assert.equal(await waiting, '[{"result":"OK"},{"result":0}]');
  });
});

describe("encodings", () => {
  const base64 = { "upstash-encoding": "base64" };
  const resp2 = { "upstash-response-format": "resp2" };

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

  test("whether a nested OK is encoded is a switch", async () => {
    const words = ["EVAL", "return {redis.call('SET', KEYS[1], 'v')}", 1, "k"];
    const raw = await start();
    assert.equal((await command(raw, words, base64)).text, '{"result":["OK"]}');
    const encoded = await start({ encodeNestedOk: true });
    assert.equal((await command(encoded, words, base64)).text, '{"result":["T0s="]}');
  });

  test("without base64, bytes that are not UTF-8 become the replacement character", async () => {
    const endpoint = await start();
    await redis.direct.send("SET", "k", Buffer.of(0x61, 0xff, 0x62));
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"a\uFFFDb"}');
  });

  test("resp2 is the server's own bytes", async () => {
    const endpoint = await start();
    const cases: [(string | number)[], number, string][] = [
      [["SET", "k", ""], 200, "+OK\r\n"],
      [["GET", "k"], 200, "$0\r\n\r\n"],
      [["GET", "none"], 200, "$-1\r\n"],
      [["INCRBY", "n", "9007199254740993"], 200, ":9007199254740993\r\n"],
      [["MGET", "k", "none"], 200, "*2\r\n$0\r\n\r\n$-1\r\n"],
      [["INCR", "k", "x"], 400, "-ERR wrong number of arguments for 'incr' command\r\n"],
    ];
    for (const [words, status, text] of cases) {
      const answer = await command(endpoint, words, resp2);
      assert.deepEqual(
        [answer.status, answer.type, answer.text],
        [status, "application/octet-stream", text],
      );
    }
    const body = '[["GET","k"],["GET","none"]]';
    const many = await request(endpoint, "/pipeline", { method: "POST", body, headers: resp2 });
    assert.equal(many.text, "$0\r\n\r\n$-1\r\n");
    const atomic = await request(endpoint, "/multi-exec", { method: "POST", body, headers: resp2 });
    assert.equal(atomic.text, '[{"result":""},{"result":null}]');
  });

  test("an unknown format, and resp2 with base64, get 400", async () => {
    const endpoint = await start();
    for (const headers of [{ "upstash-response-format": "resp3" }, { ...resp2, ...base64 }]) {
      assert.equal((await command(endpoint, ["PING"], headers)).status, 400);
    }
  });
});
