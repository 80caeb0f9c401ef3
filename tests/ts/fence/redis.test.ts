import assert from "node:assert/strict";
import { test } from "node:test";
import { Redis } from "ioredis";
import { redisFence } from "leasehold/fence";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { guards } from "./contract.ts";

const name = ({ key, slot = 0 }: { key: string; slot?: number }) => `{${key}}:lines:${slot}`;

async function start() {
  const server = await RedisServer.start();
  const client = new Redis({ port: server.port, host: "127.0.0.1" });
  const guard = redisFence(([command = "", ...args]) => client.call(command, args));
  const close = async () => {
    client.disconnect();
    await server.close();
  };
  return { client, guard, close };
}

guards("Redis", async () => {
  const { client, guard, close } = await start();
  return {
    advance: (lease) => guard.advance(lease),
    write: (lease, line) => guard.write(lease, ["RPUSH", name(lease), line]),
    lines: (lease) => client.lrange(name(lease), 0, -1),
    close,
  };
});

test("Redis: several commands are one step, and their replies come back", async () => {
  const { client, guard, close } = await start();
  try {
    const lease = { key: "order:42", fence: 7n };
    const replies = await guard.write(
      lease,
      ["SET", "{order:42}:state", "shipped"],
      ["GET", "{order:42}:nothing"],
      ["INCR", "{order:42}:count"],
    );
    assert.deepEqual(replies, ["OK", null, 1]);
    const stale = guard.write({ ...lease, fence: 6n }, ["SET", "{order:42}:state", "lost"]);
    await assert.rejects(stale, { code: "LOST", reason: "fenced-out" });
    assert.equal(await client.get("{order:42}:state"), "shipped");
    assert.equal(await client.get("leasehold:guard:{order:42}:0"), "00000000000000000007");
    assert.equal(await client.ttl("leasehold:guard:{order:42}:0"), -1);

    const wrong = guard.write(lease, ["INCR", "{order:42}:state"]);
    await assert.rejects(wrong, /not an integer/);
    await assert.rejects(guard.write(lease, ["PING"]), { code: "INVALID", reason: "commands" });
  } finally {
    await close();
  }
});

test("Redis: only the server's own word is a refusal", async () => {
  const lease = { key: "order:42", fence: 7n };
  for (const reply of [null, false]) {
    const refused = redisFence(async () => reply).advance(lease);
    await assert.rejects(refused, { code: "LOST", reason: "fenced-out" });
  }
  for (const reply of [undefined, "OK", 1, {}, true]) {
    const mistaken = redisFence(async () => reply).advance(lease);
    await assert.rejects(mistaken, { code: "INVALID", reason: "send" });
  }
});
