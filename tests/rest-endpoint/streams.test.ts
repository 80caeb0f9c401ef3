import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { RestEndpoint } from "./endpoint.ts";
import { command, eventually, suite } from "./harness.ts";

const redis = suite();

interface Listener {
  readonly lines: string[];
  readonly status: number;
  readonly type: string | null;
  /** Set once the stream ended, with how. */
  ended?: "closed" | "broken";
}

async function listen(endpoint: RestEndpoint, path: string): Promise<Listener> {
  const headers = { authorization: `Bearer ${endpoint.token}` };
  const response = await fetch(endpoint.url + path, { method: "POST", headers });
  const listener: Listener = {
    lines: [],
    status: response.status,
    type: response.headers.get("content-type"),
  };
  const read = async () => {
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      listener.lines.splice(0, Infinity, ...text.split("\n").filter((line) => line !== ""));
    }
  };
  void read().then(
    () => {
      listener.ended = "closed";
    },
    () => {
      listener.ended = "broken";
    },
  );
  return listener;
}

const receives = (listener: Listener, count: number) =>
  eventually(`${count} lines`, () => listener.lines.length >= count);

describe("server-sent events", () => {
  test("subscribe: one line per message, comma-joined and unescaped", async () => {
    const endpoint = await redis.endpoint();
    const listener = await listen(endpoint, "/subscribe/news");
    assert.deepEqual([listener.status, listener.type], [200, "text/event-stream"]);
    await receives(listener, 1);
    const published = await command(endpoint, ["PUBLISH", "news", "a, b"]);
    assert.equal(published.text, '{"result":1}');
    await receives(listener, 2);
    assert.deepEqual(listener.lines, ["data: subscribe,news,1", "data: message,news,a, b"]);
  });

  test("no channel is a 400", async () => {
    const endpoint = await redis.endpoint();
    assert.equal((await listen(endpoint, "/subscribe")).status, 400);
  });

  test("a client that leaves ends its subscription", async () => {
    const endpoint = await redis.endpoint();
    const leave = new AbortController();
    const headers = { authorization: `Bearer ${endpoint.token}` };
    const init = { method: "POST", headers, signal: leave.signal };
    await fetch(`${endpoint.url}/subscribe/left`, init);
    const subscribers = async () => (await command(endpoint, ["PUBLISH", "left", "x"])).text;
    await eventually("it is subscribed", async () => (await subscribers()) === '{"result":1}');
    leave.abort();
    await eventually("it is gone", async () => (await subscribers()) === '{"result":0}');
    assert.equal(endpoint.streams.open, 0);
  });
});

describe("stream faults", () => {
  test("closeAll cuts every stream", async () => {
    const endpoint = await redis.endpoint();
    const listeners = [
      await listen(endpoint, "/subscribe/a"),
      await listen(endpoint, "/subscribe/b"),
    ];
    await eventually("both are open", () => endpoint.streams.open === 2);
    assert.equal(endpoint.streams.closeAll(), 2);
    for (const listener of listeners) {
      await eventually("it is cut", () => listener.ended === "broken");
    }
    assert.equal(endpoint.faults.count("stream-close"), 2);
    await eventually("none is open", () => endpoint.streams.open === 0);
  });

  test("muted streams stay open and lose messages", async () => {
    const endpoint = await redis.endpoint();
    const listener = await listen(endpoint, "/subscribe/news");
    await receives(listener, 1);
    endpoint.streams.muted = true;
    await command(endpoint, ["PUBLISH", "news", "lost"]);
    await eventually("it is lost", () => endpoint.faults.count("stream-mute") === 1);
    endpoint.streams.muted = false;
    await command(endpoint, ["PUBLISH", "news", "heard"]);
    await receives(listener, 2);
    assert.deepEqual(listener.lines, ["data: subscribe,news,1", "data: message,news,heard"]);
  });

  test("rules meet stream requests by their command", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "status", status: 502, body: "html" }, { command: "subscribe" });
    assert.equal((await listen(endpoint, "/subscribe/news")).status, 502);
    const unfit = endpoint.faults.add({ kind: "duplicate" });
    assert.equal((await listen(endpoint, "/subscribe/news")).status, 200);
    assert.equal(unfit.fired, 0);
  });
});
