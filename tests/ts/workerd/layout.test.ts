/** Which object decides about a key, and what an operator's change of that does to leases. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type WorkerSpec, Workers } from "./harness.ts";
import { type Response as Answer, acquire, id, release, renew, request, rise } from "./host.ts";

const TOKEN = "everything-0123456789";
const OPERATOR = "the-operator-0123456789";
const WAYS = ["https", "service", "script", "fetch"] as const;
type Way = (typeof WAYS)[number] | `object/${string}`;

function specs(vars: Record<string, unknown>): WorkerSpec[] {
  const host: WorkerSpec = {
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN, LEASEHOLD_OPERATOR_TOKEN: OPERATOR, ...vars },
    routes: ["*/v1/*", "*/healthz"],
  };
  const user: WorkerSpec = {
    name: "user",
    entry: new URL("./user-worker.ts", import.meta.url),
    services: { HOST: "leasehold" },
    durableObjects: { LEASES: { className: "LeaseHost", scriptName: "leasehold" } },
  };
  return [user, host];
}

type Fields = Record<string, unknown>;

/** Asks; what is told to go elsewhere once more is repeated once, as a client does. */
async function ask(workers: Workers, way: (typeof WAYS)[number], asked: Fields): Promise<Answer> {
  const answer = await askOnce(workers, way, asked);
  return answer.reason === "wrong-object" ? askOnce(workers, way, asked) : answer;
}

async function askOnce(workers: Workers, way: Way, asked: Fields): Promise<Answer> {
  const isHttps = way === "https";
  const { operation, ...body } = asked;
  const response = await fetch(
    new URL(isHttps ? `/v1/${operation}` : `/${way}`, await workers.url()),
    {
      method: "POST",
      headers: isHttps ? { authorization: `Bearer ${TOKEN}` } : {},
      body: JSON.stringify(isHttps ? body : asked),
    },
  );
  return (await response.json()) as Answer;
}

async function change(
  workers: Workers,
  token = OPERATOR,
): Promise<{ status: number; body: Fields }> {
  const response = await fetch(new URL("/v1/layout", await workers.url()), {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: response.status, body: (await response.json()) as Fields };
}

const told = ({ outcome, reason, layout }: Answer) => [outcome, reason, layout];

test("whoever asks, in whatever way, one object decides", async () => {
  for (const vars of [{}, { LEASEHOLD_SHARDS: 16 }, { LEASEHOLD_SHARDS: "key" }]) {
    await using workers = await Workers.start(...specs(vars));
    for (const [index, way] of WAYS.entries()) {
      const key = `shared ${index}`;
      assert.equal((await ask(workers, way, acquire(key))).outcome, "granted");
      for (const other of WAYS) {
        const answer = await ask(workers, other, acquire(key, { holder: "bob" }));
        assert.deepEqual([answer.outcome, answer.holder], ["held", "alice"], `${way}, ${other}`);
      }
    }
  }
});

test("an object serves only its own keys, tells where others belong, and keeps no trace", async () => {
  await using workers = await Workers.start(...specs({ LEASEHOLD_SHARDS: "4" }));
  const others = ["shard/4/0", "shard/4/9", "shard/8/0", "layout", "order:42", "eu/4", "eu/key/a"];
  const former = ["key/order:42", "shard/8/1", "eu/shard/4/1"];
  const misdirected = async (names: string[], operations: string[]) => {
    for (const name of names) {
      for (const operation of operations) {
        const asked = { ...acquire("order:42"), operation };
        const answer = await askOnce(workers, `object/${name}`, asked);
        assert.deepEqual(told(answer), ["refused", "wrong-object", "4"], `${operation}: ${name}`);
      }
    }
  };
  await misdirected([...others, ...former], ["acquire"]);
  await misdirected(others, ["inspect", "revoke"]);
  assert.deepEqual(await workers.storedObjects("LeaseHost"), []);
  // FNV-1a of "order:42", modulo 4, is 1.
  const right = await askOnce(workers, "object/shard/4/1", acquire("order:42"));
  assert.equal(right.outcome, "granted");
  const stored = await workers.storedObjects("LeaseHost");
  assert.equal(stored.length, 2, "the shard, and the object that records the layout");
  // Of another layout in which the key would be theirs, they look whether a lease still runs there.
  await misdirected(former, ["inspect", "revoke"]);
});

test("a jurisdiction is part of the layout", async () => {
  const eu = { LEASEHOLD_SHARDS: "key", LEASEHOLD_JURISDICTION: "eu" };
  await using workers = await Workers.start(...specs(eu));
  const elsewhere = await askOnce(workers, "object/key/a", acquire("a"));
  assert.deepEqual(told(elsewhere), ["refused", "wrong-object", "eu/key"]);
  assert.equal((await ask(workers, "script", acquire("a"))).outcome, "granted");
  assert.equal((await askOnce(workers, "object/eu/key/a", acquire("a"))).outcome, "held");
  assert.equal((await ask(workers, "https", acquire("a"))).outcome, "held");
});

test("a setting that is no layout closes the host and says which", async () => {
  const wrong = ["0", "-1", "1.5", "many", "", "513", "064", "+4", "4 4"].map((shards) => ({
    LEASEHOLD_SHARDS: shards,
  }));
  for (const vars of [...wrong, { LEASEHOLD_JURISDICTION: "E U" }]) {
    await using workers = await Workers.start(...specs(vars));
    for (const way of [...WAYS, "object/key/k"] as const) {
      const answer = await askOnce(workers, way, acquire("k"));
      assert.deepEqual(told(answer), ["refused", "not-configured", undefined]);
      assert.ok(answer.message?.includes(Object.keys(vars)[0] ?? ""), answer.message);
    }
  }
});

test("shards without a binding to their own class say what is missing", async () => {
  const [user, host] = specs({ LEASEHOLD_SHARDS: "2" }) as [WorkerSpec, WorkerSpec];
  const unbound = { ...host, durableObjects: {} };
  const own = { ...host, name: "other", durableObjects: { OTHER: "LeaseHost" } };
  await using workers = await Workers.start(user, unbound, own);
  const answer = await ask(workers, "script", acquire("k"));
  assert.deepEqual(told(answer), ["refused", "not-configured", undefined]);
  assert.match(answer.message ?? "", /binding/);
});

const KEYS = Array.from({ length: 24 }, (_, number) => `key ${number}`);

/** Leases over keys, by all ways in turn. */
async function take(workers: Workers, keys: string[], fields: Fields) {
  const leases = keys.map(async (key, index) => {
    const way = WAYS[index % WAYS.length] ?? "https";
    const asked = acquire(key, { holder: `first of ${key}`, ...fields });
    const granted = await ask(workers, way, asked);
    assert.equal(granted.outcome, "granted", `${way}: ${JSON.stringify(granted)}`);
    return { key, way, lease: granted.lease, fence: granted.fence, asked };
  });
  return Promise.all(leases);
}

test("a change of shards while leases run: none is lost before its time, none is doubled", async () => {
  await using workers = await Workers.start(...specs({ LEASEHOLD_SHARDS: "4" }));
  const ttlMs = 8_000;
  const leases = await take(workers, KEYS, { ttlMs });
  const [ended, cancelled, revoked, ...running] = leases as [
    (typeof leases)[0],
    (typeof leases)[0],
    (typeof leases)[0],
    ...typeof leases,
  ];
  await workers.restart(...specs({ LEASEHOLD_SHARDS: "8" }));

  // Deployed, not yet in force: what runs goes on in every way, nothing new begins.
  for (const way of WAYS) {
    for (const { key, lease } of running.slice(0, 6)) {
      const renewed = await ask(workers, way, renew(key, { lease, ttlMs }));
      assert.equal(renewed.outcome, "renewed", `${way}: ${JSON.stringify(renewed)}`);
      const info = await ask(workers, way, request("inspect", key));
      assert.equal(info.state?.holders[0]?.holder, `first of ${key}`);
    }
    for (const key of [...KEYS.slice(0, 4), "a new key"]) {
      const answer = await ask(workers, way, acquire(key, { holder: "second" }));
      assert.deepEqual(told(answer), ["refused", "layout-pending", undefined], `${way} ${key}`);
    }
    const toLease = id();
    const [first] = running as [(typeof leases)[0]];
    const to = { lease: first.lease, toHolder: "heir", toLease, ttlMs };
    const handed = await ask(workers, way, request("transfer", first.key, to));
    assert.deepEqual(told(handed), ["refused", "layout-pending", undefined]);
  }
  const giving = release(ended.key, { lease: ended.lease });
  for (const way of WAYS) {
    assert.equal((await ask(workers, way, giving)).outcome, "released", "repeated, the same");
  }
  const back = { ...cancelled.asked, operation: "cancel" };
  assert.equal((await ask(workers, "script", back)).outcome, "cancelled");
  const byForce = await ask(workers, "service", request("revoke", revoked.key));
  assert.equal(byForce.outcome, "revoked");

  // The operator's step.
  assert.equal((await change(workers, TOKEN)).status, 401);
  const { status, body } = await change(workers);
  const inMs = Number(body.inMs);
  assert.deepEqual([status, body.inForce, body.next], [200, "4", "8"]);
  assert.ok(inMs > 4_000 && inMs <= ttlMs, `${inMs} ms`);
  const inForceAt = Date.now() + inMs;
  const again = await change(workers);
  assert.deepEqual([again.body.inForce, again.body.next], ["4", "8"], "repeated, the same");

  // Until then what runs goes on, and no renewal goes beyond.
  let longest = 0;
  for (const [index, { key, lease }] of running.entries()) {
    const way = WAYS[index % WAYS.length] ?? "https";
    const renewed = await ask(workers, way, renew(key, { lease, ttlMs: 600_000 }));
    assert.equal(renewed.outcome, "renewed", `${way}: ${JSON.stringify(renewed)}`);
    longest = Math.max(longest, Date.now() + Number(renewed.ttlMs));
    const refused = await ask(workers, way, acquire(key, { holder: "second" }));
    assert.deepEqual(told(refused), ["refused", "layout-pending", undefined]);
    assert.ok(Number(refused.retryAfterMs) <= inMs, `${refused.retryAfterMs} ms`);
  }
  assert.ok(longest <= inForceAt + 50, `${longest - inForceAt} ms beyond`);

  // In force: everything is granted by the new shards, in every way, and only once.
  await sleep(inForceAt - Date.now() + 100);
  for (const [index, key] of KEYS.entries()) {
    const way = WAYS[(index + 1) % WAYS.length] ?? "https";
    const granted = await ask(workers, way, acquire(key, { holder: "second" }));
    assert.equal(granted.outcome, "granted", `${way}: ${JSON.stringify(granted)}`);
    assert.ok(rise(leases[index]?.fence, granted.fence), `${granted.fence} in another object`);
    for (const other of WAYS) {
      assert.equal((await ask(workers, other, acquire(key, { holder: "third" }))).holder, "second");
    }
  }
  for (const { key, lease } of running.slice(0, 4)) {
    for (const way of WAYS) {
      assert.equal((await ask(workers, way, renew(key, { lease }))).outcome, "not-holder");
    }
  }
  assert.deepEqual((await change(workers)).body, { inForce: "8" });

  // An old shard is none any more.
  for (const operation of ["inspect", "acquire"]) {
    // FNV-1a of "order:42", modulo 4, is 1.
    const asked = { ...acquire("order:42"), operation };
    const answer = await askOnce(workers, "object/shard/4/1", asked);
    assert.deepEqual(told(answer), ["refused", "wrong-object", "8"]);
  }

  // And back again: shards that were closed are opened by the next step alone.
  await workers.restart(...specs({ LEASEHOLD_SHARDS: "4" }));
  const early = await ask(workers, "https", acquire("another"));
  assert.deepEqual(told(early), ["refused", "layout-pending", undefined]);
  const { body: second } = await change(workers);
  assert.deepEqual([second.inForce, second.next], ["8", "4"]);
  await sleep(Number(second.inMs) + 100);
  for (const way of WAYS) {
    assert.equal((await ask(workers, way, acquire(`${way}, again`))).outcome, "granted");
  }
});

test("who waits while the shards are changed is granted nothing by the old ones", async () => {
  await using workers = await Workers.start(...specs({ LEASEHOLD_SHARDS: "4" }));
  const { lease } = await ask(workers, "https", acquire("order:42"));
  const asked = acquire("order:42", { holder: "waits", waitMs: 20_000 });
  const lost = askOnce(workers, "object/shard/4/1", asked).catch(() => "gone with the deploy");
  while ((await ask(workers, "https", request("inspect", "order:42"))).state?.waiters !== 1);
  await workers.restart(...specs({ LEASEHOLD_SHARDS: "8" }));
  await lost;
  assert.equal((await ask(workers, "https", release("order:42", { lease }))).outcome, "released");
  const info = await ask(workers, "https", request("inspect", "order:42"));
  assert.deepEqual(info.state?.holders, [], "nobody was offered it");
  assert.equal((await ask(workers, "https", asked)).reason, "layout-pending");
});

test("from an object per key to shards: what runs is served until it ends", async () => {
  await using workers = await Workers.start(...specs({ LEASEHOLD_SHARDS: "key" }));
  const { lease } = await ask(workers, "https", acquire("a"));
  await workers.restart(...specs({ LEASEHOLD_SHARDS: "4" }));
  const old = (asked: Fields) => askOnce(workers, "object/key/a", asked);
  assert.equal((await old(renew("a", { lease }))).outcome, "renewed");
  assert.deepEqual(told(await old(acquire("a"))), ["refused", "wrong-object", "4"]);
  assert.equal((await old(release("a", { lease }))).outcome, "released");
  assert.deepEqual(told(await old(request("inspect", "a"))), ["refused", "wrong-object", "4"]);
  const refused = await (await fetch(new URL("/healthz", await workers.url()))).json();
  assert.deepEqual(refused, { status: "ok" });
});

test("an operator sees the layout, and a step without shards is refused", async () => {
  await using workers = await Workers.start(...specs({ LEASEHOLD_SHARDS: "key" }));
  const { status, body } = await change(workers);
  assert.deepEqual([status, body.code, body.reason], [400, "INVALID", "no-shards"]);
  await workers.restart(...specs({ LEASEHOLD_SHARDS: "2" }));
  const health = await fetch(new URL("/healthz", await workers.url()), {
    headers: { authorization: `Bearer ${OPERATOR}` },
  });
  assert.deepEqual(await health.json(), { status: "ok", faults: [], layout: { inForce: "2" } });
});
