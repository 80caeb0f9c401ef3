import assert from "node:assert/strict";
import { test } from "node:test";
import { type BackendError, type CallOptions, LeaseClient, type WireRequest } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { http } from "leasehold/http";
import { memory } from "leasehold/memory";
import { service } from "leasehold/service";
import { TestClock } from "leasehold/testing";
import { leaseError } from "../support/bench.ts";

const REQUEST: WireRequest = { v: 1, operation: "inspect", key: "a/b c", op: "00" };
const TOKEN = "very-secret";

function options(signal = new AbortController().signal): CallOptions {
  return { signal, timeoutMs: 1_000, rebind: false };
}

function answering(respond: () => Response | Promise<Response>) {
  const calls: { url: string; init: RequestInit }[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    calls.push({ url, init });
    return respond();
  };
  return { calls, fetch };
}

test("http posts the request with the token and takes the answer, whatever the status", async () => {
  for (const status of [200, 401, 403, 409, 429, 503]) {
    const answer = { v: 1, outcome: "refused", code: "DENIED", reason: "scope" };
    const { calls, fetch } = answering(() => Response.json(answer, { status }));
    const host = http({ url: "https://leases.example.com/base/", token: TOKEN, fetch });
    assert.deepEqual(await host.call(REQUEST, options()), answer);
    assert.equal(calls[0]?.url, "https://leases.example.com/base/v1/inspect");
    const headers = new Headers(calls[0]?.init.headers);
    assert.equal(headers.get("authorization"), `Bearer ${TOKEN}`);
    assert.equal(headers.get("content-type"), "application/json");
    assert.deepEqual(JSON.parse(String(calls[0]?.init.body)), REQUEST);
  }
});

for (const [name, respond] of [
  ["HTML of an outage", () => new Response("<html>bad gateway</html>", { status: 502 })],
  ["an empty body", () => new Response("")],
  ["truncated JSON", () => new Response('{"v":1,"outcome":"gra')],
  ["JSON of something else", () => Response.json({ error: "no" }, { status: 500 })],
  ["a JSON null", () => Response.json(null)],
  ["a failed fetch", () => Promise.reject(new TypeError("fetch failed"))],
] as const) {
  test(`over http ${name} is no answer, of unknown delivery`, async () => {
    const { fetch } = answering(respond);
    const host = http({ url: "https://leases.example.com", token: TOKEN, fetch });
    await assert.rejects(host.call(REQUEST, options()), (error: BackendError) => {
      assert.equal(error.delivery, "unknown");
      assert.equal(error.retryAfterMs, undefined);
      assert.ok(!`${error} ${JSON.stringify(error)}`.includes(TOKEN));
      return true;
    });
  });
}

for (const [name, respond] of [
  ["a firewall's page", () => page(403)],
  ["a portal's page", () => page(200)],
  ["a page that is not there", () => page(404)],
  ["a server that does not know the method", () => page(501)],
  ["a proxy that wants a password", () => page(407)],
  ["a redirect", () => Response.redirect("https://elsewhere.example.com", 307)],
] as const) {
  test(`over http ${name} is told at once as not the host's word`, async () => {
    const { fetch } = answering(respond);
    const host = http({ url: "https://leases.example.com", token: TOKEN, fetch });
    await assert.rejects(host.call(REQUEST, options()), (error: BackendError) => {
      assert.deepEqual(error.verdict, { code: "UNAVAILABLE", reason: "foreign-answer" });
      return true;
    });
  });
}

function page(status: number): Response {
  const headers = { "content-type": "text/html" };
  return new Response("<html>no</html>", { status, headers });
}

test("over http the longest state there can be is read: as many holders and entries as a key has", async () => {
  const clock = new TestClock();
  const server = memory({ clock });
  let longest = 0;
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    const answer = await server.call(JSON.parse(String(init?.body)), { ...options(), clock });
    const text = JSON.stringify(answer);
    longest = Math.max(longest, text.length);
    return new Response(text, { headers: { "content-type": "application/json" } });
  };
  const url = "https://leases.example.com";
  const leases = new LeaseClient(http({ url, token: TOKEN, fetch }), { clock });
  // A control character takes six in JSON, and a name more room than a value.
  const key = "\u0001".repeat(512);
  const named = (bytes: number, n: number) => `${n}`.padStart(bytes, "\u0001");
  for (let n = 0; n < 1_024; n += 1) {
    const lease = await leases.acquire(key, { mode: "shared", holder: named(256, n) });
    for (let at = 0; n < 8 && at < Math.min(64, 508 - 64 * n); at += 1) {
      await lease.setEntry(named(128, at), 0);
    }
  }
  const state = await leases.inspect(key);
  assert.equal(state?.holders.length, 1_024);
  assert.equal(state.holders.flatMap(({ entries }) => Object.keys(entries)).length, 508);
  assert.ok(longest > 1_900_000, `${longest}`);
  for await (const watched of leases.watch(key)) {
    assert.equal(watched.holders.length, 1_024);
    break;
  }
});

test("a body without end is cut off, and is no answer", async () => {
  let sent = 0;
  const chunk = new TextEncoder().encode("1".repeat(65_536));
  const body = new ReadableStream({
    pull: (controller) => {
      sent += chunk.length;
      controller.enqueue(chunk);
    },
  });
  const { fetch } = answering(() => new Response(body));
  const host = http({ url: "https://leases.example.com", token: TOKEN, fetch });
  await assert.rejects(host.call(REQUEST, options()), { delivery: "unknown" });
  assert.ok(sent < 16_000_000, `${sent}`);
});

for (const [header, ms] of [
  ["7", 7_000],
  ["Wed, 21 Oct 2015 07:28:00 GMT", 0],
  ["soon", undefined],
] as const) {
  test(`http honours Retry-After: ${header}`, async () => {
    const respond = () => new Response("", { status: 503, headers: { "retry-after": header } });
    const { fetch } = answering(respond);
    const host = http({ url: "https://leases.example.com", token: TOKEN, fetch });
    await assert.rejects(host.call(REQUEST, options()), (error: BackendError) => {
      assert.equal(error.retryAfterMs, ms);
      return true;
    });
  });
}

test("http refuses a bad URL and a missing token at once", () => {
  for (const url of ["", "leases.example.com", "ftp://leases.example.com"]) {
    assert.throws(() => http({ url, token: TOKEN }), leaseError("INVALID", { reason: "url" }));
  }
  for (const token of ["", undefined, 5]) {
    const bad = { token } as { token: string };
    const made = () => http({ url: "https://leases.example.com", ...bad });
    assert.throws(made, leaseError("INVALID", { reason: "token" }));
  }
});

interface Stub {
  call?(request: WireRequest): Promise<unknown>;
  fetch?(url: string, init: RequestInit): Promise<Response>;
}

function namespace(stub: Stub) {
  const names: string[] = [];
  let stubs = 0;
  return {
    names,
    get stubs() {
      return stubs;
    },
    idFromName(name: string) {
      names.push(name);
      return name;
    },
    get(_id: string) {
      stubs += 1;
      return stub;
    },
  };
}

test("a Durable Object is called by RPC with the request alone, one object per key", async () => {
  const answer = {
    v: 1,
    outcome: "state",
    state: { key: "k", revision: "0", holders: [], waiters: 0 },
  };
  const seen: unknown[][] = [];
  const objects = namespace({
    call: async (...args) => {
      seen.push(args);
      return answer;
    },
  });
  const host = durableObject(objects);
  assert.deepEqual(await host.call(REQUEST, options()), answer);
  assert.deepEqual(seen, [[REQUEST]]);
  assert.deepEqual(objects.names, [`key/${REQUEST.key}`]);
});

/** What objects answer whose layout is another. */
const elsewhere = (layout: string) => ({
  v: 1,
  outcome: "refused",
  reason: "wrong-object",
  layout,
});

for (const via of ["rpc", "fetch"] as const) {
  test(`told of another layout by ${via}, it asks there at once, and there first from then on`, async () => {
    const inspected = { v: 1, outcome: "inspected" };
    const answers: object[] = [elsewhere("4"), inspected, inspected];
    const answer = async () => answers.shift();
    const objects = namespace({ call: answer, fetch: async () => Response.json(await answer()) });
    const host = durableObject(objects, { via });
    assert.deepEqual(await host.call(REQUEST, options()), inspected);
    // FNV-1a of "a/b c", "order:42" and "a", modulo 4.
    await host.call({ ...REQUEST, key: "order:42" }, options());
    answers.push(inspected);
    await durableObject(objects, { via }).call({ ...REQUEST, key: "a" }, options());
    assert.deepEqual(objects.names, ["key/a/b c", "shard/4/0", "shard/4/1", "shard/4/0"]);
  });
}

test("it goes elsewhere once in an attempt, and nowhere by a layout it can't read", async () => {
  for (const unread of ["four", "0", "", "eu/", "/4", "EU/4"]) {
    const objects = namespace({ call: async () => elsewhere(unread) });
    const answer = await durableObject(objects).call(REQUEST, options());
    assert.deepEqual(answer, elsewhere(unread));
    assert.equal(objects.names.length, 1, unread);
  }
  const answers = [elsewhere("8"), elsewhere("4"), elsewhere("8"), elsewhere("8")];
  const objects = namespace({ call: async () => answers.shift() });
  const host = durableObject(objects);
  assert.deepEqual(await host.call({ ...REQUEST, key: "a" }, options()), elsewhere("4"));
  // FNV-1a of "a", modulo 8, is 4.
  assert.deepEqual(objects.names, ["key/a", "shard/8/4"]);
});

test("a jurisdiction narrows the namespace, and a location hint goes with every object", async () => {
  const narrowed = namespace({ call: async () => ({ v: 1, outcome: "inspected" }) });
  const hints: unknown[] = [];
  const asked: string[] = [];
  const objects = {
    idFromName: (name: string) => assert.fail(name),
    get: () => assert.fail(),
    jurisdiction: (name: string) => {
      asked.push(name);
      return {
        ...narrowed,
        get: (id: string, given: unknown) => {
          hints.push(given);
          return narrowed.get(id);
        },
      };
    },
  };
  const host = durableObject(objects, { jurisdiction: "eu", locationHint: "weur" });
  await host.call(REQUEST, options());
  assert.deepEqual([asked, narrowed.names], [["eu"], ["eu/key/a/b c"]]);
  assert.deepEqual(hints, [{ locationHint: "weur" }]);
  for (const jurisdiction of ["EU", "e u", "key", "eu/4"]) {
    const made = () => durableObject(objects, { jurisdiction });
    assert.throws(made, leaseError("INVALID", { reason: "jurisdiction" }));
  }
});

test("a service binding is called by RPC with the request alone", async () => {
  const answer = { v: 1, outcome: "inspected" };
  const seen: unknown[][] = [];
  const call = async (...args: unknown[]) => {
    seen.push(args);
    return answer;
  };
  assert.deepEqual(await service({ call, fetch }).call(REQUEST, options()), answer);
  assert.deepEqual(seen, [[REQUEST]]);
  const failing = service({ fetch, call: () => Promise.reject(new Error("gone")) });
  await assert.rejects(failing.call(REQUEST, options()), (error: BackendError) => {
    assert.equal(error.delivery, "unknown");
    return true;
  });
  const controller = new AbortController();
  const silent = service({ fetch, call: () => new Promise(() => {}) });
  const called = silent.call(REQUEST, options(controller.signal));
  controller.abort();
  await assert.rejects(called);
});

test("each attempt has a stub of its own, and an overloaded object is left alone", async () => {
  const reset = Object.assign(new Error("reset"), { retryable: true });
  const overloaded = Object.assign(new Error("overloaded"), { overloaded: true });
  const errors = [reset, overloaded];
  const objects = namespace({ call: () => Promise.reject(errors.shift()) });
  const host = durableObject(objects);
  await assert.rejects(host.call(REQUEST, options()), (error: BackendError) => {
    assert.deepEqual([error.delivery, error.retryAfterMs], ["unknown", undefined]);
    assert.equal(error.cause, reset);
    return true;
  });
  await assert.rejects(host.call(REQUEST, options()), (error: BackendError) => {
    assert.equal(error.delivery, "unknown");
    assert.ok((error.retryAfterMs ?? 0) >= 500);
    return true;
  });
  assert.equal(objects.stubs, 2);
});

test("a call by RPC is left when its answer is awaited no more", async () => {
  const objects = namespace({ call: () => new Promise(() => {}) });
  const controller = new AbortController();
  const called = durableObject(objects).call(REQUEST, options(controller.signal));
  controller.abort();
  await assert.rejects(called);
});

test("via fetch posts to the object", async () => {
  const answer = {
    v: 1,
    outcome: "state",
    state: { key: "k", revision: "0", holders: [], waiters: 0 },
  };
  const urls: string[] = [];
  const objects = namespace({
    fetch: async (url, init) => {
      urls.push(url);
      assert.deepEqual(JSON.parse(String(init.body)), REQUEST);
      return Response.json(answer);
    },
  });
  const host = durableObject(objects, { via: "fetch" });
  assert.deepEqual(await host.call(REQUEST, options()), answer);
  assert.ok(urls[0]?.endsWith("/v1/inspect"));
});
