import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { OPERATIONS } from "../../../pkg/src/lease/backend.ts";
import { type WorkerSpec, Workers } from "./harness.ts";
import { type Response as Answer, acquire, id, release, renew, request } from "./host.ts";

const TOKEN = "everything-0123456789";
const ORDERS = "orders-only-0123456789";
const TOKENS = JSON.stringify([{ token: TOKEN }, { token: ORDERS, prefixes: ["orders:"] }]);

function standAlone(vars: Record<string, string>): WorkerSpec {
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

before(async () => {
  workers = await Workers.start(standAlone({ LEASEHOLD_TOKENS: TOKENS }));
});
after(() => workers.stop());

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
  assert.deepEqual([first.status, first.answer.outcome, first.answer.fence], [200, "granted", "1"]);
  const { lease } = first.answer;
  const held = await post(acquire(key, { holder: "bob" }));
  assert.deepEqual([held.status, held.answer.outcome], [200, "held"]);
  assert.equal((await post(renew(key, { lease }))).answer.outcome, "renewed");
  assert.equal((await post(request("verify", key, { lease }))).answer.outcome, "renewed");
  const toLease = id();
  const to = { lease, toHolder: "bob", toLease, ttlMs: 10_000 };
  assert.equal((await post(request("transfer", key, to))).answer.fence, "2");
  const late = await post(renew(key, { lease }));
  assert.deepEqual([late.status, late.answer.outcome], [200, "not-holder"]);
  assert.equal((await post(request("inspect", key))).answer.state?.holders[0]?.holder, "bob");
  assert.equal((await post(release(key, { lease: toLease }))).answer.outcome, "released");
  const again = await post(acquire(key));
  assert.equal(again.answer.fence, "3");
  assert.equal((await post(request("revoke", key))).answer.revoked, 1);
  assert.equal((await post(request("cancel", key))).answer.outcome, "cancelled");
});

test("a waiter is answered when the lease is released", async () => {
  const key = "waited for";
  const { lease } = (await post(acquire(key))).answer;
  const waiting = post(acquire(key, { holder: "bob", waitMs: 10_000 }));
  while ((await post(request("inspect", key))).answer.state?.waiters !== 1);
  await post(release(key, { lease }));
  assert.equal((await waiting).answer.fence, "2");
});

test("keys of any bytes have an object each", async () => {
  const keys = ["\0x", "\0y", "é", "e\u0301", "🔒".repeat(128), "a/b", "..", "__proto__"];
  for (const key of keys) {
    assert.equal((await post(acquire(key))).answer.fence, "1", JSON.stringify(key));
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
    for (const operation of OPERATIONS.filter((operation) => operation !== "list")) {
      const holder = operation === "acquire" ? { holder: "alice" } : {};
      const to = { toHolder: "bob", toLease: id(), ttlMs: 1_000 };
      const work = { name: "n", number: 1, result: "1", keepMs: 60_000 };
      const fields = { ...holder, lease: id(), ...to, ...work };
      for (const key of ["order:1", "Orders:1", " orders:1"]) {
        const got = await post(request(operation, key, fields), { token: ORDERS });
        refused(got, 403, "DENIED", "out-of-scope");
      }
    }
  });

  test("nobody at all until a fit secret is configured", async () => {
    const unfit = [
      "",
      "  ",
      "short",
      "[]",
      "{}",
      "[1]",
      '[{"token":"short"}]',
      "[{",
      '[{"prefixes":[]}]',
    ];
    unfit.push(JSON.stringify([{ token: TOKEN }, { token: "short" }]));
    unfit.push(JSON.stringify([{ token: TOKEN, prefixes: "orders:" }]));
    unfit.push(JSON.stringify([{ token: TOKEN, prefixes: [1] }]));
    for (const secret of [undefined, ...unfit]) {
      const vars = secret === undefined ? {} : { LEASEHOLD_TOKENS: secret };
      await using closed = await Workers.start(standAlone(vars));
      for (const token of [TOKEN, "short", secret ?? "", "x".repeat(16)]) {
        const got = await send(closed, "/v1/inspect", {
          token: token.trim(),
          body: JSON.stringify(request("inspect", "k")),
        });
        refused(got, 503, "UNAVAILABLE", "not-configured");
        assert.match(got.answer.message ?? "", /LEASEHOLD_TOKENS/);
      }
      note("inspect", 503);
      assert.equal((await send(closed, "/healthz", { method: "GET" })).status, 200);
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
    padded.padding = "x".repeat(8_192 - JSON.stringify(padded).length);
    const got = await post(acquire("fitting"), { body: JSON.stringify(padded) });
    assert.equal(got.answer.outcome, "granted");
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

test("with LEASEHOLD_SHARDS, all keys of a shard are in one object", async () => {
  const vars = { LEASEHOLD_TOKENS: TOKEN, LEASEHOLD_SHARDS: "2" };
  await using sharded = await Workers.start(standAlone(vars));
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, number) =>
      send(sharded, "/v1/acquire", { body: JSON.stringify(acquire(`key ${number}`)) }),
    ),
  );
  assert.deepEqual(new Set(answers.map(({ answer }) => answer.fence)), new Set(["1"]));
  assert.equal((await sharded.storedObjects("LeaseHost")).length, 2);

  for (const LEASEHOLD_SHARDS of ["0", "-1", "1.5", "many", ""]) {
    await using wrong = await Workers.start(standAlone({ ...vars, LEASEHOLD_SHARDS }));
    const got = await send(wrong, "/v1/acquire", { body: JSON.stringify(acquire("k")) });
    refused(got, 503, "UNAVAILABLE", "not-configured");
    assert.match(got.answer.message ?? "", /LEASEHOLD_SHARDS/);
  }
});

test("other Workers reach it by a service binding and by a cross-script one", async () => {
  await using both = await Workers.start(
    {
      name: "user",
      entry: new URL("./user-worker.ts", import.meta.url),
      services: { HOST: "leasehold" },
      durableObjects: { LEASES: { className: "LeaseHost", scriptName: "leasehold" } },
    },
    standAlone({}),
  );
  const ask = async (way: string, asked: Record<string, unknown>) => {
    const body = JSON.stringify(asked);
    const response = await fetch(new URL(way, await both.url()), { method: "POST", body });
    return (await response.json()) as Answer;
  };
  const granted = await ask("service", acquire("shared"));
  assert.deepEqual([granted.outcome, granted.fence], ["granted", "1"]);
  const held = await ask("script", acquire("shared", { holder: "bob" }));
  assert.deepEqual([held.outcome, held.holder], ["held", "alice"]);
  const wrong = await ask("service", acquire("shared", { ttlMs: 1 }));
  assert.deepEqual([wrong.outcome, wrong.reason], ["refused", "ttlMs"]);
  const released = await ask("script", release("shared", { lease: granted.lease }));
  assert.equal(released.outcome, "released");
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
