import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { RestEndpoint } from "./endpoint.ts";
import { command, eventually, request } from "./harness.ts";
import { RedisServer } from "./server-process.ts";

const DOWN = [503, '{"error":"ERR the database cannot be reached"}'];

async function refusesConnections(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return false;
  } catch {
    return true;
  } finally {
    socket.destroy();
  }
}

describe("redis that comes and goes", () => {
  test("a killed redis means 503 until it is back, with an empty memory and script cache", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
    await command(endpoint, ["SET", "k", "v"]);
    const sha = (await command(endpoint, ["SCRIPT", "LOAD", "return 1"])).text.slice(11, -2);
    const bill = await endpoint.commands.read();
    await server.kill();
    for (let i = 0; i < 2; i++) {
      const answer = await command(endpoint, ["GET", "k"]);
      assert.deepEqual([answer.status, answer.text], DOWN);
    }
    const stream = await request(endpoint, "/subscribe/c", { method: "POST" });
    assert.deepEqual([stream.status, stream.text], DOWN);
    await server.restart();
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":null}');
    assert.match((await command(endpoint, ["EVALSHA", sha, 0])).text, /NOSCRIPT/);
    await command(endpoint, ["EVAL", "return redis.call('INCR', KEYS[1])", 1, "n"]);
    const later = await endpoint.commands.read();
    assert.equal(later.inScript - bill.inScript, 1);
  });

  test("with appendOnly the data outlives a kill", async () => {
    await using server = await RedisServer.start({ appendOnly: true });
    await using endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
    await command(endpoint, ["SET", "k", "v"]);
    await server.kill();
    await server.restart();
    assert.equal((await command(endpoint, ["GET", "k"])).text, '{"result":"v"}');
  });

  test("a kill in the middle of a request and of a stream", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
    const headers = { authorization: `Bearer ${endpoint.token}` };
    const stream = await fetch(`${endpoint.url}/subscribe/c`, { method: "POST", headers });
    const body = '["EVAL","while true do end",0]';
    const pending = request(endpoint, "/", { method: "POST", body });
    await eventually("it runs", () => endpoint.requests.withCommand("eval").length === 1);
    await server.kill();
    const answer = await pending;
    assert.deepEqual([answer.status, answer.text], DOWN);
    await assert.rejects(stream.text(), TypeError);
  });

  test("a frozen redis delays answers, a thawed one gives them", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
    await command(endpoint, ["SET", "k", "v"]);
    server.freeze();
    const leave = new AbortController();
    const init = { method: "POST", body: '["INCR","late"]', signal: leave.signal };
    const waiting = assert.rejects(request(endpoint, "/", init), { name: "AbortError" });
    await eventually("it has arrived", () => endpoint.requests.withCommand("incr").length === 1);
    leave.abort();
    await waiting;
    server.thaw();
    assert.equal((await command(endpoint, ["GET", "late"])).text, '{"result":"1"}');
  });
});

describe("the end", () => {
  test("close leaves no listener, even amid hanging requests, delays and streams", async () => {
    await using server = await RedisServer.start();
    const endpoint = await RestEndpoint.start({ redis: server, supportsKeyLocking: true });
    endpoint.faults.add({ kind: "hang" }, { command: "get" });
    endpoint.faults.add({ kind: "delay-before", ms: 60_000 }, { command: "incr" });
    const hanging = assert.rejects(command(endpoint, ["GET", "k"]), TypeError);
    const delayed = assert.rejects(command(endpoint, ["INCR", "n"]), TypeError);
    const headers = { authorization: `Bearer ${endpoint.token}` };
    const stream = await fetch(`${endpoint.url}/subscribe/c`, { method: "POST", headers });
    await eventually("all have arrived", () => endpoint.requests.total === 3);
    await endpoint.close();
    await endpoint.close();
    await Promise.all([hanging, delayed, assert.rejects(stream.text(), TypeError)]);
    assert.ok(await refusesConnections(Number(new URL(endpoint.url).port)));
  });

  test("the server's port is free after close", async () => {
    const server = await RedisServer.start();
    await server.stop();
    await server.restart();
    assert.equal(await refusesConnections(server.port), false);
    await server.close();
    assert.ok(await refusesConnections(server.port));
  });

  test("redis and its directory do not outlive a killed process", async () => {
    const module = new URL("server-process.ts", import.meta.url).href;
    const script = `
      const { RedisServer } = await import(${JSON.stringify(module)});
      console.log("port " + (await RedisServer.start()).port + " up");`;
    const temporary = await mkdtemp(join(tmpdir(), "leasehold-test-"));
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, TMPDIR: temporary },
    });
    try {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
      await eventually("redis is up", () => output.includes(" up"));
      const port = Number(/port (\d+)/.exec(output)?.[1]);
      assert.equal(await refusesConnections(port), false);
      assert.equal((await readdir(temporary)).length, 1);
      child.kill("SIGKILL");
      await eventually("redis is gone", () => refusesConnections(port));
      await eventually("so are its files", async () => (await readdir(temporary)).length === 0);
    } finally {
      child.kill("SIGKILL");
      await rm(temporary, { recursive: true, force: true });
    }
  });

  test("a redis that cannot start is an error", async () => {
    const before = process.env.REDIS_SERVER;
    process.env.REDIS_SERVER = "/nowhere/redis-server";
    try {
      await assert.rejects(RedisServer.start(), { code: "ENOENT" });
    } finally {
      if (before === undefined) delete process.env.REDIS_SERVER;
      else process.env.REDIS_SERVER = before;
    }
  });
});

test("stand-alone: prints its address, serves, and ends on SIGTERM", async () => {
  const main = fileURLToPath(new URL("main.ts", import.meta.url));
  const child = spawn(process.execPath, [main, "--token", "t"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    await eventually("it is up", () => output.includes("\ntoken t\n"));
    const url = /^url (\S+)$/m.exec(output)?.[1];
    const init = { method: "POST", body: '["PING"]', headers: { authorization: "Bearer t" } };
    assert.equal(await (await fetch(`${url}/`, init)).text(), '{"result":"PONG"}');
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  } finally {
    child.kill("SIGKILL");
  }
});
