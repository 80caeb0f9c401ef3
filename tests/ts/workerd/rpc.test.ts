import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Workers } from "./harness.ts";
import { acquire, FENCE, type Host, id, release, renew, request, rise } from "./host.ts";

let workers: Workers;
/** The object of the key. */
const object = (key: string) => workers.namespace<Host>("LEASES").getByName(`key/${key}`);
/** The object of all keys. */
const shard = () => workers.namespace<Host>("SHARD").getByName("shard/1/0");

before(async () => {
  workers = await Workers.startTestHost();
});
after(() => workers.stop());

test("a key is granted once, then again after its release, with a higher fence", async () => {
  const host = object("basic");
  const first = await host.call(acquire("basic"));
  assert.equal(first.outcome, "granted");
  assert.match(String(first.fence), FENCE);
  assert.equal(first.ttlMs, 9_500, "told a term shorter by the margin for the host's clock");

  const rival = await host.call(acquire("basic", { holder: "bob" }));
  assert.equal(rival.outcome, "held");
  assert.equal(rival.holder, "alice");

  const { lease } = first;
  assert.equal((await host.call(renew("basic", { lease }))).outcome, "renewed");
  assert.equal((await host.call(release("basic", { lease: id() }))).outcome, "not-holder");
  assert.equal((await host.call(release("basic", { lease }))).outcome, "released");
  const second = await host.call(acquire("basic"));
  assert.ok(rise(first.fence, second.fence));
});

test("transfer hands over with a new id and a higher fence, and the old id is dead", async () => {
  const host = object("transfer");
  const { lease, fence } = await host.call(acquire("transfer"));
  const toLease = id();
  const to = { lease, toHolder: "bob", toLease, ttlMs: 10_000 };
  const successor = await host.call(request("transfer", "transfer", to));
  assert.equal(successor.outcome, "granted");
  assert.equal(successor.lease, toLease);
  assert.ok(rise(fence, successor.fence));
  const old = await host.call(renew("transfer", { lease }));
  assert.deepEqual([old.outcome, old.reason], ["not-holder", "transferred"]);
  assert.equal((await host.call(renew("transfer", { lease: toLease }))).outcome, "renewed");
});

test("inspect tells who holds the key, revoke ends it, the old holder learns", async () => {
  const host = object("operator");
  const none = { key: "operator", revision: "0", holders: [], waiters: 0 };
  const absent = { v: 1, outcome: "state", state: none };
  assert.deepEqual(await host.call(request("inspect", "operator")), absent);
  const { lease, fence } = await host.call(acquire("operator"));
  const info = await host.call(request("inspect", "operator"));
  const [holder] = info.state?.holders ?? [];
  assert.deepEqual([holder?.holder, holder?.fence, info.state?.waiters], ["alice", fence, 0]);
  assert.ok(!JSON.stringify(info).includes(String(lease)), "whoever may look may not act");
  const revoked = await host.call(request("revoke", "operator"));
  assert.equal(revoked.revoked, 1);
  const after = await host.call(renew("operator", { lease }));
  assert.deepEqual([after.outcome, after.reason], ["not-holder", "revoked"]);
});

test("a repeated op has the outcome of the first, a cancelled one none at all", async () => {
  const host = object("op");
  const asked = acquire("op");
  const first = await host.call(asked);
  const again = await host.call(asked);
  assert.deepEqual([again.fence, again.lease, again.replayed], [first.fence, first.lease, true]);

  assert.equal((await host.call({ ...asked, operation: "cancel" })).outcome, "cancelled");
  assert.equal((await host.call(asked)).replayed, true, "too late to be granted anew");
  const fresh = acquire("op", { holder: "bob" });
  await host.call({ ...fresh, operation: "cancel" });
  assert.equal((await host.call(fresh)).outcome, "cancelled", "the tombstone came first");
  assert.ok(rise(first.fence, (await host.call(acquire("op"))).fence));
});

test("whatever is sent, the answer is a value that names the field", async () => {
  const host = object("invalid");
  const bad: [string, unknown][] = [
    ["request", null],
    ["request", undefined],
    ["request", "acquire"],
    ["request", []],
    ["v", {}],
    ["v", acquire("invalid", { v: 2 })],
    ["v", acquire("invalid", { v: "1" })],
    ["operation", acquire("invalid", { operation: "grab" })],
    ["operation", acquire("invalid", { operation: 7 })],
    ["key", acquire("invalid", { key: undefined })],
    ["key", acquire("")],
    ["key", acquire("é".repeat(257))],
    ["key", acquire("\ud800")],
    ["key", acquire("invalid", { key: 12345 })],
    ["op", acquire("invalid", { op: undefined })],
    ["op", acquire("invalid", { op: "xyz" })],
    ["op", acquire("invalid", { op: 5n })],
    ["lease", acquire("invalid", { lease: undefined })],
    ["lease", acquire("invalid", { lease: {} })],
    ["holder", acquire("invalid", { holder: "" })],
    ["holder", acquire("invalid", { holder: "x".repeat(257) })],
    ["holder", acquire("invalid", { holder: "\udc00" })],
    ...[0, -1, 1.5, 99, 86_400_001, 2 ** 31 * 1e9, Number.NaN, Infinity, "10s", 1000n, true].map(
      (ttlMs): [string, unknown] => ["ttlMs", acquire("invalid", { ttlMs })],
    ),
    ...[-1, 0.5, 86_400_001, Number.NaN, Infinity, "0", {}].map((waitMs): [string, unknown] => [
      "waitMs",
      acquire("invalid", { waitMs }),
    ]),
    ["lease", renew("invalid", {})],
    ["lease", release("invalid", {})],
    ["toHolder", request("transfer", "invalid", { lease: id(), ttlMs: 1_000 })],
  ];
  for (const [field, sent] of bad) {
    const answer = await host.call(sent);
    assert.deepEqual(
      [answer.v, answer.outcome, answer.code, answer.reason],
      [1, "refused", "INVALID", field === "request" ? "malformed-json" : field],
      JSON.stringify(sent, (_, value) => (typeof value === "bigint" ? String(value) : value)),
    );
    assert.ok(answer.message?.startsWith(field), answer.message);
  }
  assert.deepEqual(await host.sql("SELECT name FROM sqlite_master"), [], "nothing was stored");
  assert.equal((await host.call(acquire("invalid"))).outcome, "granted");
});

const nameFor = (key: string) => (Buffer.byteLength(key) > 256 ? "long" : key);

test("keys and names are kept byte for byte", async () => {
  const host = shard();
  const texts = ["café", "cafe\u0301", "ключ🔒", "\0x", "\0", " a ", "{}", "12345", "1e3", "true"];
  texts.push("null", "\ufffd", "x".repeat(512), "🔒".repeat(128), "__proto__", "a'b\"c;--");
  const fences = new Map<string, string | undefined>();
  for (const key of texts) {
    const holder = nameFor(key);
    const granted = await host.call(acquire(key, { holder }));
    assert.equal(granted.outcome, "granted", JSON.stringify(key));
    fences.set(key, granted.fence);
  }
  await host.abort().catch(() => {});
  const again = shard();
  for (const key of texts) {
    const info = await again.call(request("inspect", key));
    const [holder] = info.state?.holders ?? [];
    assert.deepEqual(
      [holder?.holder, holder?.fence],
      [nameFor(key), fences.get(key)],
      JSON.stringify(key),
    );
  }
});
