import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, test } from "node:test";
import { command, suite } from "./harness.ts";

const redis = suite();
const sha1 = (text: string) => createHash("sha1").update(text).digest("hex");
const FLAGGED = "#!lua flags=allow-key-locking\nreturn redis.call('INCR', KEYS[1])";

describe("the allow-key-locking flag", () => {
  test("a flagged script runs, and is known by the hash of its own text", async () => {
    const endpoint = await redis.endpoint();
    const sha = sha1(FLAGGED);
    assert.equal((await command(endpoint, ["SCRIPT", "EXISTS", sha])).text, '{"result":[0]}');
    assert.match((await command(endpoint, ["EVALSHA", sha, 1, "n"])).text, /"error":"NOSCRIPT /);
    assert.equal(
      (await command(endpoint, ["SCRIPT", "LOAD", FLAGGED])).text,
      `{"result":"${sha}"}`,
    );
    assert.equal((await command(endpoint, ["SCRIPT", "EXISTS", sha])).text, '{"result":[1]}');
    assert.equal((await command(endpoint, ["EVALSHA", sha, 1, "n"])).text, '{"result":1}');
    assert.equal((await command(endpoint, ["EVAL", FLAGGED, 1, "n"])).text, '{"result":2}');
    await command(endpoint, ["SCRIPT", "FLUSH"]);
    assert.match((await command(endpoint, ["EVALSHA", sha, 1, "n"])).text, /"error":"NOSCRIPT /);
  });

  test("other flags on the line still count", async () => {
    const endpoint = await redis.endpoint();
    const script =
      "#!lua flags=no-writes,allow-key-locking\nreturn redis.call('SET', KEYS[1], 'v')";
    const answer = await command(endpoint, ["EVAL", script, 1, "k"]);
    assert.match(answer.text, /Write commands are not allowed from read-only scripts/);
  });

  test("a key outside KEYS fails before it is touched", async () => {
    const endpoint = await redis.endpoint();
    const script = "#!lua flags=allow-key-locking\nreturn redis.call('SET', KEYS[1] .. ':x', 'v')";
    const answer = await command(endpoint, ["EVAL", script, 1, "k"]);
    assert.equal(answer.status, 400);
    const start = JSON.stringify({
      error:
        "ERR Dynamic keys are not allowed in Lua scripts when 'allow-key-locking' flag is set. Key was: k:x",
    }).slice(0, -2);
    assert.equal(answer.text.slice(0, start.length), start);
    assert.equal((await command(endpoint, ["EXISTS", "k:x"])).text, '{"result":0}');
  });

  test("pcall gets the same refusal as a value", async () => {
    const endpoint = await redis.endpoint();
    const script =
      "#!lua flags=allow-key-locking\nlocal r = redis.pcall('MSET', KEYS[1], 1, 'other', 2) return string.sub(r.err, -14)";
    assert.equal(
      (await command(endpoint, ["EVAL", script, 1, "k"])).text,
      '{"result":"Key was: other"}',
    );
  });

  test("FLUSHDB fails; commands without keys pass", async () => {
    const endpoint = await redis.endpoint();
    await command(endpoint, ["SET", "k", "v"]);
    const flush = "#!lua flags=allow-key-locking\nreturn redis.call('FLUSHDB')";
    assert.match((await command(endpoint, ["EVAL", flush, 0])).text, /"error":"ERR flushdb is not/);
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"v"}');
    const publish = "#!lua flags=allow-key-locking\nreturn redis.call('PUBLISH', 'channel', 'x')";
    assert.equal((await command(endpoint, ["EVAL", publish, 0])).text, '{"result":0}');
    const time = "#!lua flags=allow-key-locking\nreturn #redis.call('TIME')";
    assert.equal((await command(endpoint, ["EVAL", time, 0])).text, '{"result":2}');
  });

  test("an error in a script names the hash the client knows and the right line", async () => {
    const endpoint = await redis.endpoint();
    const script = "#!lua flags=allow-key-locking\n\nlocal t = nil\nreturn t.x";
    const { text } = await command(endpoint, ["EVAL", script, 0]);
    assert.match(text, new RegExp(`user_script:4: .* script: ${sha1(script)}, on @user_script:4`));
  });

  test("off the first line it is ignored, and the key rule with it", async () => {
    const endpoint = await redis.endpoint();
    const script = "\n#!lua flags=allow-key-locking\nreturn redis.call('SET', 'undeclared', 'v')";
    assert.equal((await command(endpoint, ["EVAL", script, 0])).text, '{"result":"OK"}');
    assert.equal((await command(endpoint, ["EVALSHA", sha1(script), 0])).text, '{"result":"OK"}');
  });

  test("strict: a flag off the first line and an undeclared key without flag fail", async () => {
    const endpoint = await redis.endpoint({ strictScripts: true });
    const misplaced = "\n#!lua flags=allow-key-locking\nreturn 1";
    assert.match(
      (await command(endpoint, ["EVAL", misplaced, 0])).text,
      /not on the script's first line/,
    );
    const undeclared = "return redis.call('GET', 'undeclared')";
    assert.match(
      (await command(endpoint, ["EVAL", undeclared, 0])).text,
      /outside KEYS. Key was: undeclared/,
    );
    const declared = "return redis.call('SET', KEYS[1], ARGV[1])";
    assert.equal(
      (await command(endpoint, ["EVAL", declared, 1, "k", "v"])).text,
      '{"result":"OK"}',
    );
  });

  test("an endpoint without support passes redis's own rejection on", async () => {
    const endpoint = await redis.endpoint({ supportsKeyLocking: false });
    const error = "ERR Unexpected flag in script shebang: allow-key-locking";
    const answer = await command(endpoint, ["EVAL", FLAGGED, 1, "n"]);
    assert.deepEqual([answer.status, answer.text], [400, JSON.stringify({ error })]);
    const plain = "return redis.call('INCR', 'n')";
    assert.equal((await command(endpoint, ["EVAL", plain, 0])).text, '{"result":1}');
  });
});
