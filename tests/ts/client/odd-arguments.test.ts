/** Whatever is passed to whatever is public: a `LeaseError` comes out, or a value. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runInNewContext } from "node:vm";
import { BackendError, type Lease, type LeaseBackend, LeaseClient, LeaseError } from "leasehold";
import { cached } from "leasehold/cache";
import { durableObject } from "leasehold/durable-object";
import { election } from "leasehold/election";
import {
  d1Fence,
  durableObjectFence,
  FencedObject,
  mysqlFence,
  postgresFence,
  r2Objects,
  redisFence,
  s3Objects,
  sqliteFence,
} from "leasehold/fence";
import { http, httpFromEnv } from "leasehold/http";
import { ioredis } from "leasehold/ioredis";
import { attachLease, leaseProvider } from "leasehold/mastra";
import { memory } from "leasehold/memory";
import { nodeRedis } from "leasehold/node-redis";
import { redis } from "leasehold/redis";
import { onSchedule } from "leasehold/schedule";
import { service } from "leasehold/service";
import { synchronized } from "leasehold/synchronized";
import { ScriptedBackend, TestClock, testLeases } from "leasehold/testing";
import { upstash, upstashFromEnv } from "leasehold/upstash";
import { LockManager } from "leasehold/web-locks";

const oops = (): never => {
  throw new Error("not a LeaseError");
};

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Throws whatever is done to it. */
const hostile = (target: object) =>
  new Proxy(
    target,
    Object.fromEntries(Object.getOwnPropertyNames(Reflect).map((trap) => [trap, oops])),
  );

/** An object whose every field throws when it is read. */
const trapped = (...names: string[]) =>
  Object.defineProperties(
    {},
    Object.fromEntries(names.map((name) => [name, { enumerable: true, get: oops }])),
  );

const ODD: Readonly<Record<string, unknown>> = {
  null: null,
  false: false,
  true: true,
  zero: 0,
  "minus one": -1,
  "one and a half": 1.5,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  "2^53": 2 ** 53,
  "a bigint": 10n,
  "a symbol": Symbol("odd"),
  "no text": "",
  text: "text",
  "half a character": "\ud800",
  "long text": "k".repeat(10_000),
  "30s": "30s",
  "an array": [],
  "an array of text": ["a"],
  "an object": {},
  "an object without a prototype": Object.create(null),
  "an object with other names": { ttl: 1, wait: 2, abortSignal: 3 },
  "a frozen object": Object.freeze({}),
  "a function": () => {},
  "a function that throws": oops,
  "an asynchronous function": async () => {},
  "a class": class {},
  "a date": new Date(0),
  "an expression": /k/,
  "a map": new Map(),
  "an error": new Error("odd"),
  "a promise": Promise.resolve("k"),
  // biome-ignore lint/suspicious/noThenProperty: that is what is odd about it
  "a thenable": { then: oops },
  bytes: new Uint8Array(4),
  "a boxed text": new String("k"),
  "a boxed number": new Number(1_000),
  "a controller": new AbortController(),
  "a URL": new URL("https://leases.example.com"),
  "the global object": globalThis,
  "a hostile object": hostile({}),
  "a hostile function": hostile(() => {}),
  "a revoked proxy": revoked(),
  "a proxy of nothing": new Proxy({}, {}),
  "text that can't be made": { toString: oops, valueOf: oops, [Symbol.toPrimitive]: oops },
  "an object of traps": trapped(
    ...["signal", "timeoutMs", "ttlMs", "waitMs", "holder", "url", "token", "key", "id", "call"],
    ...[
      "send",
      "idFromName",
      "aborted",
      "then",
      "prefix",
      "redis",
      "v",
      "t1",
      "UPSTASH_REDIS_REST_URL",
    ],
  ),
  "a signal that can't be listened to": {
    aborted: false,
    addEventListener: oops,
    removeEventListener: oops,
  },
  "a signal that has no reason": trapped("reason", "aborted"),
  "an object of another realm": runInNewContext("({})"),
  "an array of another realm": runInNewContext("[]"),
  "a function of another realm": runInNewContext("() => {}"),
  "an error of another realm": runInNewContext("new Error('odd')"),
};

const client = () => new LeaseClient(memory(), { waitMs: 0 });

const named = () => client().named({ secret: SECRET });

const r2 = r2Objects({ get: async () => null, put: async () => ({}) });

/** The first thing told, or the error in its place; not for long. */
async function first(told: AsyncIterable<unknown>): Promise<void> {
  const next = told[Symbol.asyncIterator]().next();
  await Promise.race([next, new Promise((wake) => setTimeout(wake, 20))]);
}

async function withLease(use: (lease: Lease) => unknown): Promise<void> {
  const lease = await client().acquire("k");
  try {
    await use(lease);
  } finally {
    await lease.release();
  }
}

/** What each option of a call is, at its place. */
const each = (names: readonly string[], call: (options: object) => unknown) =>
  Object.fromEntries(names.map((name) => [name, (odd: unknown) => call({ [name]: odd })]));

const LIMITS = ["signal", "timeoutMs"];
const ALONE = [...LIMITS, "ttlMs", "waitMs", "holder", "renewal", "maxHoldMs", "steal"];
const ACQUIRE = [...ALONE, "limit", "mode", "reentrant", "renew"];
const SECRET = "a secret of more than sixteen bytes";
const LEASE = { key: "k", fence: 1n };
const OPTIONS = ["holder", "waitUntil", "clock", "ttlMs", "waitMs", "onEvent", "keepProcessAlive"];
const HANDLE = ["v", "key", "holder", "id", "fence", "ttlMs"];
const NOON = { at: Date.now(), everyMs: 60_000 };
const URLS = { url: "http://127.0.0.1:9", token: "token" };
const VARIABLES = ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"];

/** A backend that may have been made of something odd, used once. */
const used = (make: () => LeaseBackend) => new LeaseClient(make()).inspect("k", { timeoutMs: 200 });

type Call = (odd: never) => unknown;

/** Every public function, by each of its arguments and options. */
const CALLS: Readonly<Record<string, Readonly<Record<string, Call>>>> = {
  "new LeaseClient": {
    backend: (odd: LeaseBackend) => used(() => odd),
    options: (odd: object) => new LeaseClient(memory(), odd),
    ...each(OPTIONS, (options) => new LeaseClient(memory(), options)),
  },
  acquire: {
    key: (odd: string) => client().acquire(odd),
    options: (odd: object) => client().acquire("k", odd),
    ...each(ACQUIRE, (options) => client().acquire("k", options)),
    "renewal.t1": (t1: number) => client().acquire("k", { renewal: { t1 } }),
  },
  tryAcquire: {
    key: (odd: string) => client().tryAcquire(odd),
    options: (odd: object) => client().tryAcquire("k", odd),
  },
  run: {
    key: (odd: string) => client().run(odd, () => {}),
    options: (odd: object) => client().run("k", odd, () => {}),
  },
  acquireAll: {
    keys: (odd: never) => client().acquireAll(odd),
    key: (odd: string) => client().acquireAll(["a", odd]),
    options: (odd: object) => client().acquireAll(["k"], odd),
    ...each(ACQUIRE, (options) => client().acquireAll(["k"], options)),
    "runAll's keys": (odd: never) => client().runAll(odd, () => {}),
    "runAll's options": (odd: object) => client().runAll(["k"], odd, () => {}),
  },
  close: {
    options: (odd: object) => client().close(odd),
    ...each(["timeoutMs"], (options) => client().close(options)),
  },
  synchronized: {
    // What a function of the caller's throws is the caller's.
    leases: (odd: never) => typeof odd === "function" || synchronized(odd, "k", () => {})(),
    name: (odd: never) => typeof odd === "function" || synchronized(client(), odd, () => {})(odd),
    input: (odd: string) => synchronized(client(), "order:{}", () => {})(odd),
    field: (id: string) => synchronized(client(), "order:{id}", () => {})({ id }),
    options: (odd: object) => synchronized(client(), "k", () => {}, odd)(),
  },
  election: {
    leases: (odd: never) => election(odd, "k"),
    name: (odd: string) => election(client(), odd),
    options: (odd: object) => election(client(), "k", odd),
    ...each(["ttlMs", "holder", "maxHoldMs"], (options) => election(client(), "k", options)),
    value: (odd: never) => election(client(), "k").campaign(odd),
    signal: (odd: never) => election(client(), "k").campaign(1, { signal: odd }),
    observe: (odd: object) => election(client(), "k").observe(odd),
  },
  schedule: {
    leases: (odd: never) => onSchedule(odd, "k", NOON, () => {}),
    name: (odd: string) => onSchedule(client(), odd, NOON, () => {}),
    options: (odd: never) => onSchedule(client(), "k", odd, () => {}),
    ...each(["at", "everyMs", "offsetMs", ...ALONE], (options) =>
      onSchedule(client(), "k", { ...NOON, ...options }, () => {}),
    ),
  },
  cache: {
    leases: (odd: never) => cached(odd, "k", () => 1),
    key: (odd: string) => cached(client(), odd, () => 1),
    options: (odd: object) => cached(client(), "k", () => 1, odd),
    ...each(["ttlMs", "timeoutMs", "inDurableObject"], (options) =>
      cached(client(), "k", () => 1, options),
    ),
    "write's options": (odd: object) => cached(client(), "k", () => 1).write(odd, () => {}),
  },
  resume: {
    handle: (odd: never) => client().resume(odd),
    options: (odd: object) => withLease((lease) => client().resume(lease.detach(), odd)),
    ...each(HANDLE, (field) =>
      withLease((lease) => client().resume({ ...lease.detach(), ...field })),
    ),
  },
  runOnce: {
    key: (odd: string) => client().runOnce(odd, { keepMs: 60_000 }, () => 1),
    options: (odd: never) => client().runOnce("k", odd, () => 1),
    result: (odd: never) => client().runOnce("k", { keepMs: 60_000 }, () => [odd]),
    ...each(["keepMs", "fingerprint", ...ALONE], (options) =>
      client().runOnce("k", { keepMs: 60_000, ...options }, () => 1),
    ),
  },
  watch: {
    key: (odd: string) => first(client().watch(odd)),
    options: (odd: object) => first(client().watch("k", odd)),
    ...each(["after", ...LIMITS], (options) => first(client().watch("k", options))),
  },
  list: {
    options: (odd: object) => first(client().list(odd)),
    ...each(["prefix", ...LIMITS], (options) => first(client().list(options))),
  },
  named: {
    options: (odd: never) => client().named(odd),
    secret: (secret: never) => client().named({ secret }),
    key: (odd: string) => named().acquire(odd, "a"),
    owner: (odd: string) => named().acquire("k", odd),
    toOwner: (odd: string) => named().transfer("k", "a", odd),
    acquire: (odd: object) => named().acquire("k", "a", odd),
    renew: (odd: object) => named().renew("k", "a", odd),
    release: (odd: object) => named().release("k", "a", odd),
    transfer: (odd: object) => named().transfer("k", "a", "b", odd),
    ask: (odd: object) => named().owner("k", odd),
    ...each(["fence", "ttlMs", ...LIMITS], (options) => named().renew("k", "a", options)),
  },
  fence: {
    postgres: (odd: never) => postgresFence(odd),
    mysql: (odd: never) => mysqlFence(odd),
    d1: (odd: never) => d1Fence(odd),
    // A database of the caller's may throw what it likes.
    sqlite: (odd: never) => typeof odd === "function" || sqliteFence(odd),
    durableObject: (odd: never) => durableObjectFence(odd),
    redis: (odd: never) => redisFence(odd),
    store: (odd: never) => new FencedObject(odd, "name"),
    name: (odd: never) => new FencedObject(r2, odd),
    r2: (odd: never) => r2Objects(odd),
    s3: (odd: never) => s3Objects(odd),
    ...each(["url", "fetch"], (options) =>
      s3Objects({ url: URLS.url, fetch: globalThis.fetch, ...options }),
    ),
    lease: (odd: never) => postgresFence(async () => {}).advance(odd),
    ...each(["key", "fence", "slot"], (part) =>
      postgresFence(async () => {}).advance({ ...LEASE, ...part }),
    ),
    commands: (odd: never) => redisFence(async () => []).write(LEASE, odd),
    text: (odd: never) => new FencedObject(r2, "name").write(LEASE, odd),
  },
  "web locks": {
    leases: (odd: never) => new LockManager(odd),
    options: (odd: object) => new LockManager(client(), odd),
    ...each(["clientId", "ttlMs"], (options) => new LockManager(client(), options)),
  },
  mastra: {
    leases: (odd: never) => typeof odd === "function" || leaseProvider(odd, { secret: SECRET }),
    options: (odd: never) => leaseProvider(client(), odd),
    ...each(["secret", "prefix", "timeoutMs"], (options) =>
      leaseProvider(client(), { secret: SECRET, ...options }),
    ),
    pubsub: (odd: never) => void attachLease(odd, leaseProvider(client(), { secret: SECRET })),
    provider: (odd: never) => attachLease({}, odd),
  },
  testing: {
    options: (odd: object) => testLeases(odd),
    ...each(["latencyMs", "ttlMs"], (options) => testLeases(options)),
    inner: (odd: never) => new ScriptedBackend(odd, { clock: new TestClock() }),
    network: (odd: never) => new ScriptedBackend(memory(), odd),
    operation: (odd: never) => testLeases().host.always(odd, {}),
    behaviour: (odd: never) => testLeases().host.next("renew", odd),
    ms: (odd: never) => typeof odd === "number" || new TestClock().advance(odd),
  },
  inspect: {
    key: (odd: string) => client().inspect(odd),
    options: (odd: object) => client().inspect("k", odd),
    ...each(LIMITS, (options) => client().inspect("k", options)),
  },
  revoke: {
    key: (odd: string) => client().revoke(odd),
    options: (odd: object) => client().revoke("k", odd),
  },
  lease: {
    verify: (odd: object) => withLease((lease) => lease.verify(odd)),
    renew: (odd: object) => withLease((lease) => lease.renew(odd)),
    release: (odd: object) => withLease((lease) => lease.release(odd)),
    toHolder: (odd: string) => withLease((lease) => lease.transfer(odd)),
    transfer: (odd: object) => withLease((lease) => lease.transfer("next", odd)),
    finish: (odd: never) => withLease((lease) => lease.finish(odd)),
    ...each(["result", "keepMs"], (options) =>
      withLease((lease) => lease.finish({ keepMs: 60_000, ...options })),
    ),
    "entry's name": (odd: string) => withLease((lease) => lease.setEntry(odd, 1)),
    "entry's value": (odd: never) => withLease((lease) => lease.setEntry("e", odd)),
    "entry's options": (odd: object) => withLease((lease) => lease.setEntry("e", 1, odd)),
    deleteEntry: (odd: string) => withLease((lease) => lease.deleteEntry(odd)),
    ...each([...LIMITS, "ttlMs"], (options) => withLease((lease) => lease.renew(options))),
  },
  durableObject: {
    namespace: (odd: never) => used(() => durableObject(odd)),
    options: (odd: object) => durableObject({ idFromName: () => "", get: () => ({}) }, odd),
    ...each(["jurisdiction", "locationHint", "via"], (options) =>
      used(() => durableObject({ idFromName: () => "", get: () => ({}) }, options)),
    ),
  },
  service: {
    binding: (odd: never) => used(() => service(odd)),
  },
  http: {
    options: (odd: never) => used(() => http(odd)),
    ...each(["url", "token", "fetch", "insecure"], (options) =>
      used(() => http({ ...URLS, ...options })),
    ),
    env: (odd: never) => used(() => httpFromEnv(odd)),
    "env's options": (odd: object) =>
      httpFromEnv({ LEASEHOLD_URL: URLS.url, LEASEHOLD_TOKEN: URLS.token }, odd),
  },
  upstash: {
    options: (odd: never) => used(() => upstash(odd)),
    ...each(["url", "token", "redis", "prefix", "fetch"], (options) =>
      used(() => upstash({ ...URLS, ...options })),
    ),
    env: (odd: never) => used(() => upstashFromEnv(odd)),
    ...each(VARIABLES, (env) => used(() => upstashFromEnv(env as Record<string, unknown>))),
  },
  redis: {
    options: (odd: never) => used(() => redis(odd)),
    ...each(["send", "listen", "prefix", "allowEviction"], (options) =>
      used(() => redis({ send: async () => ["free"], ...options })),
    ),
    reply: (odd: never) => used(() => redis({ send: async () => odd })),
    ioredis: (odd: never) => used(() => ioredis(odd)),
    nodeRedis: (odd: never) => used(() => nodeRedis(odd)),
  },
  memory: {
    options: (odd: object) => memory(odd),
    ...each(["clock"], (options) => used(() => memory(options))),
  },
  "a backend of one's own": {
    answers: (odd: never) => used(() => own(async () => odd)),
    rejects: (odd: unknown) => used(() => own(() => Promise.reject(odd))),
    throws: (odd: unknown) =>
      used(() =>
        own(() => {
          throw odd;
        }),
      ),
  },
  "LeaseError.is": {
    error: (odd: unknown) => assert.equal(LeaseError.is(odd) || BackendError.is(odd), false),
  },
};

function own(call: LeaseBackend["call"]): LeaseBackend {
  return { ...memory(), capabilities: memory().capabilities, call };
}

const { error } = console;
before(() => {
  console.error = () => {};
});
after(() => {
  console.error = error;
});

let calls = 0;

for (const [name, slots] of Object.entries(CALLS)) {
  test(`${name} takes anything, and throws nothing but a LeaseError`, async () => {
    for (const [slot, call] of Object.entries(slots)) {
      for (const [kind, odd] of Object.entries(ODD)) {
        calls += 1;
        try {
          await call(odd as never);
        } catch (thrown) {
          assert.ok(LeaseError.is(thrown), `${name}, ${slot} as ${kind}: ${describe(thrown)}`);
        }
      }
    }
  });
}

test("that were many", () => {
  assert.ok(calls > 4_000, `${calls} calls`);
});

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : `a thrown ${typeof thrown}`;
}
