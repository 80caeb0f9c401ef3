import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { OPERATIONS } from "../../../pkg/src/lease/backend.ts";
import { type WorkerSpec, Workers } from "./harness.ts";
import {
  type Response as Answer,
  acquire,
  FENCE,
  id,
  release,
  renew,
  request,
  rise,
} from "./host.ts";

const TOKEN = "everything-0123456789";
const ORDERS = "orders-only-0123456789";
const OPERATOR = "the-operator-0123456789";
const ALL = ["hold", "inspect", "revoke"];
const TOKENS = JSON.stringify([
  { token: TOKEN, rights: ALL },
  { token: ORDERS, prefixes: ["orders:"] },
]);

function standAlone(vars: Record<string, unknown>): WorkerSpec {
  return {
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars,
  };
}

interface Sent {
  readonly method?: string;
  readonly token?: string | undefined;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array | ReadableStream;
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly answer: Answer;
}

async function send(workers: Workers, path: string, sent: Sent = {}): Promise<Got> {
  const { method = "POST", token = TOKEN, headers = {}, body = "{}" } = sent;
  const response = await fetch(new URL(path, await workers.url()), {
    method,
    headers: { ...(token === "" ? {} : { authorization: `Bearer ${token}` }), ...headers },
    ...(method === "GET" || method === "HEAD" ? {} : { body }),
    duplex: "half",
  });
  const text = await response.text();
  assert.equal(response.headers.get("cache-control"), "no-store");
  const answer = text === "" ? {} : JSON.parse(text);
  return { status: response.status, headers: response.headers, text, answer };
}

/** What the tests have seen, to be compared with what the document says. */
const seen = new Map<string, Set<string>>();

function note(operation: string, status: number): void {
  const statuses = seen.get(operation) ?? new Set();
  seen.set(operation, statuses.add(String(status)));
}

let workers: Workers;
/** Where each request says under which variables. */
let variable: Workers;

before(async () => {
  workers = await Workers.start(standAlone({ LEASEHOLD_TOKENS: TOKENS }));
  const entry = new URL("./variables-worker.ts", import.meta.url);
  variable = await Workers.start({ ...standAlone({}), entry });
});
after(() => Promise.all([workers.stop(), variable.stop()]));

/** The header that carries variables to {@link variable}. */
function under(variables: Record<string, unknown>): Record<string, string> {
  const text = JSON.stringify(variables);
  return {
    "x-variables": text.replace(
      /[^ -~]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  };
}

async function post(asked: Record<string, unknown>, sent: Sent = {}): Promise<Got> {
  const { operation, ...body } = asked;
  const path = `/v1/${String(operation)}`;
  const got = await send(workers, path, { body: JSON.stringify(body), ...sent });
  note(String(operation), got.status);
  return got;
}

function refused(got: Got, status: number, code: string, reason: string): void {
  const { v, outcome, message } = got.answer;
  assert.deepEqual(
    [got.status, v, outcome, got.answer.code, got.answer.reason],
    [status, 1, "refused", code, reason],
    got.text,
  );
  assert.ok((message ?? "").length > 0);
}

test("the whole life of a lease", async () => {
  const key = "orders:42";
  const first = await post(acquire(key));
  assert.deepEqual([first.status, first.answer.outcome], [200, "granted"]);
  assert.match(String(first.answer.fence), FENCE);
  const { lease } = first.answer;
  const held = await post(acquire(key, { holder: "bob" }));
  assert.deepEqual([held.status, held.answer.outcome], [200, "held"]);
  assert.equal((await post(renew(key, { lease }))).answer.outcome, "renewed");
  assert.equal((await post(request("verify", key, { lease }))).answer.outcome, "renewed");
  const toLease = id();
  const to = { lease, toHolder: "bob", toLease, ttlMs: 10_000 };
  const handed = await post(request("transfer", key, to));
  assert.ok(rise(first.answer.fence, handed.answer.fence));
  const late = await post(renew(key, { lease }));
  assert.deepEqual([late.status, late.answer.outcome], [200, "not-holder"]);
  assert.equal((await post(request("inspect", key))).answer.state?.holders[0]?.holder, "bob");
  assert.equal((await post(release(key, { lease: toLease }))).answer.outcome, "released");
  const again = await post(acquire(key));
  assert.ok(rise(handed.answer.fence, again.answer.fence));
  assert.equal((await post(request("revoke", key))).answer.revoked, 1);
  assert.equal((await post(request("cancel", key))).answer.outcome, "cancelled");
});

test("a waiter is answered when the lease is released", async () => {
  const key = "waited for";
  const { lease } = (await post(acquire(key))).answer;
  const waiting = post(acquire(key, { holder: "bob", waitMs: 10_000 }));
  while ((await post(request("inspect", key))).answer.state?.waiters !== 1);
  await post(release(key, { lease }));
  assert.equal((await waiting).answer.outcome, "granted");
});

test("keys of any bytes are keys of their own", async () => {
  const keys = ["\0x", "\0y", "é", "e\u0301", "🔒".repeat(128), "a/b", "..", "__proto__"];
  for (const key of keys) {
    assert.equal((await post(acquire(key))).answer.outcome, "granted", JSON.stringify(key));
  }
});

describe("who may", () => {
  const asked = acquire("orders:7");

  test("nobody without a token, or with a wrong one", async () => {
    const wrong = ["", "nonsense", TOKEN.slice(0, -1), `${TOKEN}x`, TOKENS, "a", " "];
    for (const token of wrong) {
      const got = await post(asked, { token });
      refused(got, 401, "DENIED", "unauthorized");
      assert.equal(got.headers.get("www-authenticate"), "Bearer");
    }
    for (const authorization of [TOKEN, `Basic ${TOKEN}`, "Bearer", `Bearer${TOKEN}`]) {
      refused(
        await post(asked, { token: "", headers: { authorization } }),
        401,
        "DENIED",
        "unauthorized",
      );
    }
    for (const operation of OPERATIONS) {
      const got = await post({ ...asked, operation }, { token: "", body: "{" });
      refused(got, 401, "DENIED", "unauthorized");
    }
  });

  test("a scoped token only for its keys, whatever the operation", async () => {
    assert.equal((await post(acquire("orders:scoped"), { token: ORDERS })).status, 200);
    assert.equal((await post(request("inspect", "orders:scoped"), { token: ORDERS })).status, 200);
    for (const operation of OPERATIONS.filter((operation) => operation !== "list")) {
      const holder = operation === "acquire" ? { holder: "alice" } : {};
      const to = { toHolder: "bob", toLease: id(), ttlMs: 1_000 };
      const work = { name: "n", number: 1, result: "1", keepMs: 60_000 };
      const fields = { ...holder, lease: id(), ...to, ...work };
      for (const key of ["order:1", "Orders:1", " orders:1"]) {
        const got = await post(request(operation, key, fields), { token: ORDERS });
        refused(got, 403, "DENIED", operation === "revoke" ? "no-right" : "out-of-scope");
      }
    }
  });

  test("each only what its rights say, before the body is looked at", async () => {
    const tokens = ALL.map((right) => ({ token: `may-${right}-0123456789`, rights: [right] }));
    await using host = await Workers.start(
      standAlone({ LEASEHOLD_TOKENS: JSON.stringify(tokens), LEASEHOLD_SHARDS: "key" }),
    );
    const others = new Map([
      ["inspect", "inspect"],
      ["list", "inspect"],
      ["watch", "inspect"],
      ["revoke", "revoke"],
    ]);
    for (const operation of OPERATIONS) {
      const needed = others.get(operation) ?? "hold";
      for (const { token, rights } of tokens) {
        const got = await send(host, `/v1/${operation}`, { token, body: "{" });
        if (rights.includes(needed)) {
          refused(got, 400, "INVALID", "malformed-json");
        } else {
          refused(got, 403, "DENIED", "no-right");
          assert.ok(got.answer.message?.includes(needed), got.text);
        }
      }
    }
    const body = JSON.stringify(acquire("of somebody else"));
    for (const { token } of tokens.slice(1)) {
      refused(await send(host, "/v1/acquire", { token, body }), 403, "DENIED", "no-right");
    }
    const [holding] = tokens;
    const stealing = JSON.stringify(acquire("of somebody else", { steal: true }));
    const stolen = await send(host, "/v1/acquire", { token: holding?.token, body: stealing });
    refused(stolen, 403, "DENIED", "no-right");
    assert.match(stolen.answer.message ?? "", /revoke/);
    assert.deepEqual(await host.storedObjects("LeaseHost"), [], "no object was reached");
  });

  test("nobody at all until what is configured is understood, and the operator sees why", async () => {
    const unfit: [unknown, RegExp][] = [
      [undefined, /^LEASEHOLD_TOKENS is not set/],
      ["", /is not set/],
      ["  ", /is not set/],
      ["short", /fewer than 16/],
      ["\ufeffeverything-0123456789", /no request can show/],
      ["{}", /neither one token nor a JSON list/],
      [[{ token: TOKEN }], /not a JSON variable/],
      [{ token: TOKEN }, /not a JSON variable/],
    ];
    const entries: [unknown, RegExp][] = [
      [[TOKEN], /must be an object/],
      [{ token: `${TOKEN} ` }, /no request can show/],
      [{ token: TOKEN, prefix: ["orders:"] }, /a field other than/],
      [{ token: TOKEN, prefixes: "orders:" }, /list of texts as prefixes/],
      [{ token: TOKEN, rights: ["hold", "Revoke"] }, /hold, inspect, revoke/],
      [{ token: ORDERS, prefixes: ["jobs:"] }, /repeats a token/],
    ];
    for (const [entry, why] of entries) {
      const secret = JSON.stringify([{ token: ORDERS, prefixes: ["orders:"] }, entry]);
      unfit.push([secret, new RegExp(`^LEASEHOLD_TOKENS, entry 2 .*${why.source}`)]);
    }
    for (const [secret, why] of unfit) {
      const headers = under({ LEASEHOLD_TOKENS: secret, LEASEHOLD_OPERATOR_TOKEN: OPERATOR });
      for (const token of [TOKEN, ORDERS, "short", String(secret ?? ""), OPERATOR]) {
        const got = await send(variable, "/v1/inspect", {
          token: token.replace(/[^!-~]/g, ""),
          headers,
          body: JSON.stringify(request("inspect", "orders:1")),
        });
        refused(got, 503, "UNAVAILABLE", "not-configured");
        assert.match(got.answer.message ?? "", /LEASEHOLD_TOKENS/);
      }
      note("inspect", 503);
      const seen = await send(variable, "/healthz", { method: "GET", token: OPERATOR, headers });
      const { faults = [] } = seen.answer as { faults?: string[] };
      assert.equal(faults.length, 1, seen.text);
      assert.match(faults[0] ?? "", why);
      assert.ok(!seen.text.includes(TOKEN) && !seen.text.includes(ORDERS), seen.text);
      for (const token of ["", TOKEN, "x".repeat(16)]) {
        const public_ = await send(variable, "/healthz", { method: "GET", token, headers });
        assert.deepEqual(public_.answer, { status: "ok" });
      }
    }
  });

  test("an operator's token that is unfit opens nothing, and is told beside all else", async () => {
    for (const unfit of ["short", "", " ", "with a space 0123456789", 7]) {
      const headers = under({ LEASEHOLD_TOKENS: TOKEN, LEASEHOLD_OPERATOR_TOKEN: unfit });
      for (const token of [String(unfit), "", TOKEN]) {
        const seen = await send(variable, "/healthz", { method: "GET", token, headers });
        assert.deepEqual(seen.answer, { status: "ok" });
        const got = await send(variable, "/v1/layout", { token, headers });
        refused(got, 401, "DENIED", "unauthorized");
      }
    }
  });

  test("the bearer of one plain token", async () => {
    await using plain = await Workers.start(standAlone({ LEASEHOLD_TOKENS: `${TOKEN}\n` }));
    const body = JSON.stringify(acquire("k"));
    assert.equal((await send(plain, "/v1/acquire", { body })).answer.outcome, "granted");
    assert.equal((await send(plain, "/v1/acquire", { body, token: ORDERS })).status, 401);
  });
});

describe("what is refused", () => {
  test("paths and methods that are not there", async () => {
    for (const path of [
      "/",
      "/v1",
      "/v1/",
      "/v1/steal",
      "/v1/acquire/",
      "/V1/acquire",
      "/v2/acquire",
    ]) {
      refused(await send(workers, path), 404, "INVALID", "not-found");
    }
    for (const method of ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      const got = await post(acquire("k"), { method });
      refused(got, 405, "INVALID", "method-not-allowed");
      assert.equal(got.headers.get("allow"), "POST");
    }
    const posted = await send(workers, "/healthz");
    refused(posted, 405, "INVALID", "method-not-allowed");
    assert.equal(posted.headers.get("allow"), "GET");
    note("health", posted.status);
    const health = await send(workers, "/healthz", { method: "GET", token: "" });
    assert.deepEqual(health.answer, { status: "ok" });
    note("health", health.status);
  });

  test("bodies that are no JSON object", async () => {
    const bodies = [
      "",
      "{",
      "[]",
      "1",
      '"text"',
      "null",
      "{}{}",
      new Uint8Array([0x7b, 0xff, 0x7d]),
    ];
    for (const body of bodies) {
      refused(await post(acquire("k"), { body }), 400, "INVALID", "malformed-json");
    }
    const plain = await post(acquire("typed"), { headers: { "content-type": "text/plain" } });
    assert.equal(plain.answer.outcome, "granted", "the content type does not matter");
  });

  test("bodies that are too large, whether they say so or not", async () => {
    const large = JSON.stringify({ ...acquire("k"), padding: "x".repeat(32_768) });
    refused(await post(acquire("k"), { body: large }), 413, "INVALID", "body-too-large");
    const unsaid = new Blob([large]).stream();
    refused(await post(acquire("k"), { body: unsaid }), 413, "INVALID", "body-too-large");
    const { operation: _, ...fitting } = acquire("fitting");
    const padded = { ...fitting, padding: "" };
    padded.padding = "x".repeat(32_768 - JSON.stringify(padded).length);
    const got = await post(acquire("fitting"), { body: JSON.stringify(padded) });
    assert.equal(got.answer.outcome, "granted");
  });

  test("bodies that end before they are whole", async () => {
    const { hostname, port } = await workers.url();
    const socket = connect(Number(port), hostname);
    const head = `POST /v1/acquire HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${TOKEN}\r\n`;
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n5\r\n{"v":\r\nnonsense\r\n`);
    let answer = "";
    for await (const piece of socket) {
      answer += String(piece);
      if (answer.endsWith("}")) break;
    }
    assert.match(answer, /^HTTP\/1.1 400 /);
    assert.match(answer, /"reason":"body-broken"/);
  });

  test("deeper JSON than any request has", async () => {
    for (const depth of [100, 16_000]) {
      const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
      for (const field of ["extra", "ttlMs", "key"]) {
        const body = JSON.stringify({ ...acquire("deep"), [field]: 0 });
        const sent = body.replace(`"${field}":0`, `"${field}":${deep}`);
        refused(await post(acquire("deep"), { body: sent }), 400, "INVALID", "malformed-json");
      }
    }
  });

  test("not at all: fields that no operation has, but none is passed on", async () => {
    await using echo = await Workers.start(
      {
        ...standAlone({ LEASEHOLD_TOKENS: TOKEN }),
        durableObjects: { LEASES: { className: "Echo", scriptName: "broken" } },
      },
      {
        name: "broken",
        entry: new URL("./broken-worker.ts", import.meta.url),
        durableObjects: { OWN: "Broken", ECHO: "Echo" },
      },
    );
    const asked = acquire("k", { waitMs: 0 });
    const sent = JSON.stringify({ ...asked, extra: TOKEN, toString: 1, fence: "7" });
    const { text } = await send(echo, "/v1/acquire", { body: sent });
    assert.deepEqual(JSON.parse(text), { ...asked, outcome: "echoed" });
  });

  test("fields that are wrong, by name", async () => {
    const wrong: [string, Record<string, unknown>][] = [
      ["v", { v: 2 }],
      ["key", { key: "" }],
      ["key", { key: "x".repeat(513) }],
      ["key", { key: "\ud800" }],
      ["key", { key: ["orders:1"] }],
      ["op", { op: "1" }],
      ["holder", { holder: null }],
      ["lease", { lease: 7 }],
      ["ttlMs", { ttlMs: 1 }],
      ["ttlMs", { ttlMs: "10000" }],
      ["waitMs", { waitMs: -1 }],
    ];
    for (const [field, fields] of wrong) {
      refused(await post(acquire("k", fields)), 400, "INVALID", field);
    }
    const body = JSON.stringify(request("release", "k", { holder: "alice" }));
    refused(await post(acquire("k"), { body }), 400, "INVALID", "operation");
    const same = JSON.stringify(acquire("named twice"));
    assert.equal((await post(acquire("k"), { body: same })).answer.outcome, "granted");
  });

  test("without telling a secret", async () => {
    const asked = acquire("secrets", { holder: "a name", extra: TOKEN });
    const texts = [
      await post(asked, { token: "a-wrong-token-but-long" }),
      await post({ ...asked, key: 7 }),
      await post({ ...asked, lease: "not a lease id at all" }),
      await post(asked, { token: ORDERS }),
    ];
    for (const { text, status } of texts) {
      assert.ok(status >= 400, text);
      for (const secret of [
        "token, but",
        TOKEN,
        ORDERS,
        "a name",
        "not a lease",
        String(asked.op),
      ]) {
        assert.ok(!text.includes(secret), text);
      }
    }
  });

  test("nothing, when the object gave no answer: the outcome is unknown", async () => {
    await using broken = await Workers.start(
      {
        ...standAlone({ LEASEHOLD_TOKENS: TOKEN }),
        durableObjects: { LEASES: { className: "Broken", scriptName: "broken" } },
      },
      {
        name: "broken",
        entry: new URL("./broken-worker.ts", import.meta.url),
        durableObjects: { OWN: "Broken" },
      },
    );
    const got = await send(broken, "/v1/acquire", { body: JSON.stringify(acquire("k")) });
    assert.equal(got.status, 502);
    const { message, ...rest } = got.answer;
    assert.deepEqual(rest, { v: 1, code: "UNAVAILABLE", reason: "outcome-unknown" });
    assert.ok(!message?.includes("secret"), message);
    assert.equal(got.headers.get("retry-after"), null);
    note("acquire", got.status);
  });
});

test("by default the keys are spread over 64 objects", async () => {
  await using sharded = await Workers.start(standAlone({ LEASEHOLD_TOKENS: TOKEN }));
  for (let number = 0; number < 400; number += 40) {
    const some = Array.from({ length: 40 }, (_, index) => acquire(`key ${number + index}`));
    const answers = some.map((asked) =>
      send(sharded, "/v1/acquire", { body: JSON.stringify(asked) }),
    );
    for (const { answer } of await Promise.all(answers)) {
      assert.equal(answer.outcome, "granted");
    }
  }
  // And the one that records the layout. Each of 64 is left out by 400 keys one time in 550.
  const objects = (await sharded.storedObjects("LeaseHost")).length;
  assert.ok(objects > 60 && objects <= 65, `${objects} objects`);
});

test("a caller on the oldest compatibility date that is supported", async () => {
  const old = { ...standAlone({ LEASEHOLD_TOKENS: TOKEN }), compatibilityDate: "2024-04-03" };
  await using host = await Workers.start(old);
  const key = "orders:old";
  const ask = (asked: Record<string, unknown>) => {
    const { operation, ...body } = asked;
    return send(host, `/v1/${operation}`, { body: JSON.stringify(body) });
  };
  const { lease } = (await ask(acquire(key))).answer;
  const waiting = ask(acquire(key, { holder: "bob", waitMs: 10_000 }));
  while ((await ask(request("inspect", key))).answer.state?.waiters !== 1);
  assert.equal((await ask(release(key, { lease }))).answer.outcome, "released");
  assert.equal((await waiting).answer.outcome, "granted");
});

describe("pages", () => {
  const PAGE = "https://app.example.com";
  const preflight = (origin: string, variables: Record<string, string>) =>
    send(variable, "/v1/acquire", {
      method: "OPTIONS",
      token: "",
      headers: { origin, "access-control-request-method": "POST", ...variables },
    });

  test("of listed origins may ask, and no others", async () => {
    const LEASEHOLD_ORIGINS = `${PAGE}, http://localhost:5173`;
    const variables = under({ LEASEHOLD_TOKENS: TOKEN, LEASEHOLD_ORIGINS });
    for (const origin of [PAGE, "http://localhost:5173"]) {
      const { status, headers } = await preflight(origin, variables);
      assert.equal(status, 204);
      assert.equal(headers.get("access-control-allow-origin"), origin);
      assert.equal(headers.get("access-control-allow-methods"), "POST");
      assert.equal(headers.get("access-control-allow-headers"), "authorization, content-type");
      const body = JSON.stringify(acquire(`of ${origin}`));
      const asking = { origin, ...variables };
      const got = await send(variable, "/v1/acquire", { body, headers: asking });
      assert.equal(got.answer.outcome, "granted");
      assert.equal(got.headers.get("access-control-allow-origin"), origin);
      assert.equal(got.headers.get("vary"), "origin");
      const stranger = await send(variable, "/v1/acquire", { token: "", headers: asking });
      assert.equal(stranger.status, 401, "the page sees why");
      assert.equal(stranger.headers.get("access-control-allow-origin"), origin);
    }
    const others = ["https://app.example.com:444", "http://app.example.com", "null", "*"];
    for (const origin of [...others, "https://app.example.com.evil.example", `${PAGE}/`]) {
      const got = await preflight(origin, variables);
      refused(got, 405, "INVALID", "method-not-allowed");
      assert.equal(got.headers.get("access-control-allow-origin"), null);
    }
  });

  test("are let in from nowhere while one origin is not understood", async () => {
    const unfit = ["*", "app.example.com", `${PAGE}/`, "https://App.example.com", "null"];
    for (const origin of [...unfit, "https://app.example.com:443", "ftp://a.example", "https://"]) {
      const LEASEHOLD_ORIGINS = `${PAGE},${origin}`;
      const variables = under({
        LEASEHOLD_TOKENS: TOKEN,
        LEASEHOLD_OPERATOR_TOKEN: OPERATOR,
        LEASEHOLD_ORIGINS,
      });
      assert.equal((await preflight(PAGE, variables)).status, 405, origin);
      const asking = { method: "GET", token: OPERATOR, headers: variables };
      const seen = await send(variable, "/healthz", asking);
      assert.match(seen.text, /LEASEHOLD_ORIGINS, entry 2 must be an origin/);
    }
  });
});

test("the document tells of every operation and status there is", async () => {
  interface Document {
    paths: Record<string, Record<string, { operationId: string; responses: object }>>;
    components: { schemas: { Response: { properties: { outcome: { enum: string[] } } } } };
  }
  const file = new URL("../../../openapi.json", import.meta.url);
  const document = JSON.parse(await readFile(file, "utf8")) as Document;
  const told = new Map<string, string[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    const [
      [method, { operationId, responses }] = ["", { operationId: "", responses: {} }],
      ...more
    ] = Object.entries(methods);
    assert.deepEqual(more, []);
    assert.equal(path, method === "get" ? "/healthz" : `/v1/${operationId}`);
    told.set(operationId, Object.keys(responses));
  }
  const layout = await post({ operation: "layout" });
  refused(layout, 401, "DENIED", "unauthorized");
  assert.deepEqual([...seen.keys()].sort(), [...told.keys()].sort());
  for (const [operation, statuses] of seen) {
    for (const status of statuses) {
      assert.ok(told.get(operation)?.includes(status), `${operation} answered ${status}`);
    }
  }
  for (const operation of ["acquire", "health"]) {
    const expected = (told.get(operation) ?? []).filter((status) => status !== "503").sort();
    assert.deepEqual([...(seen.get(operation) ?? [])].sort(), expected, operation);
  }
  assert.ok(seen.get("inspect")?.has("503"));
});
