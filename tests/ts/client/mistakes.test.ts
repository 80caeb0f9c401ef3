/** What people get wrong, and the one message that says what to change. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { AcquireOptions, LeaseBackend } from "leasehold";
import { LeaseClient } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { http, httpFromEnv } from "leasehold/http";
import { ioredis } from "leasehold/ioredis";
import { memory } from "leasehold/memory";
import { nodeRedis } from "leasehold/node-redis";
import { redis } from "leasehold/redis";
import { upstash, upstashFromEnv } from "leasehold/upstash";
import { bench, leaseError, within } from "../support/bench.ts";

const namespace = { idFromName: (name: string) => name, get: () => ({}) };
const stub = { call: async () => ({}), fetch: async () => new Response(), capabilities: () => {} };
const url = "https://leases.example.com";
const token = "token";

/** As plain JavaScript would call it. */
const client = (...args: unknown[]) =>
  new LeaseClient(...(args as ConstructorParameters<typeof LeaseClient>));

const CONSTRUCTED: readonly (readonly [string, () => unknown, string, RegExp])[] = [
  ["no backend", () => client(), "backend", /not undefined: is the binding or variable missing/],
  ["a namespace", () => client(namespace), "backend", /pass durableObject\(namespace\)/],
  ["an env", () => client({ LEASES: namespace }), "backend", /pass durableObject\(env\.LEASES\)/],
  ["a stub or service", () => client(stub), "backend", /not a stub or a service/],
  ["a URL", () => client("https://leases.example.com"), "backend", /pass http\(\{ url, token \}\)/],
  ["a backend's options", () => client({ url, token }), "backend", /pass http\(options\)/],
  ["a backend that is not called", () => client(memory), "backend", /call it/],
  ["a promise of one", () => client(Promise.resolve(memory())), "backend", /await it/],
  ["another client", () => client(client(memory())), "backend", /that is a client already/],
  ["ttlMs 0", () => client(memory(), { ttlMs: 0 }), "ttlMs", /milliseconds from 100 to 86400000/],
  ["a ttlMs in words", () => client(memory(), { ttlMs: "30s" }), "ttlMs", /not text/],
  ["no holder's name", () => client(memory(), { holder: "" }), "holder", /not empty text/],
  [
    "a context for waitUntil",
    () => client(memory(), { waitUntil: { waitUntil() {} } }),
    "waitUntil",
    /pass \(promise\) => ctx\.waitUntil\(promise\)/,
  ],
  [
    "an event listener's old name",
    () => client(memory(), { onevent() {} }),
    "onevent",
    /onEvent was meant/,
  ],
  [
    "no namespace",
    () => durableObject(undefined as never),
    "namespace",
    /is it bound under this name/,
  ],
  [
    "an env for a namespace",
    () => durableObject({ LEASES: namespace } as never),
    "namespace",
    /pass env\.LEASES/,
  ],
  [
    "a stub for a namespace",
    () => durableObject(stub as never),
    "namespace",
    /not an object's stub/,
  ],
  [
    "an unknown way",
    () => durableObject(namespace, { via: "http" as never }),
    "via",
    /"rpc" or "fetch"/,
  ],
  ["no options", () => upstash(undefined as never), "url", /is the variable set/],
  ["no token", () => http({ url } as never), "token", /is the variable set/],
  [
    "a token that a template made",
    () => http({ url, token: `${undefined}` }),
    "token",
    /is the variable set/,
  ],
  [
    "a URL without encryption",
    () => http({ url: "http://leases.example.com", token }),
    "url",
    /travels in clear.*insecure: true/,
  ],
  [
    "the same for a database",
    () => upstash({ url: "http://10.0.0.7:8079", token }),
    "url",
    /travels in clear/,
  ],
  [
    "Redis' own URL",
    () => upstash({ url: "rediss://u.example", token }),
    "url",
    /not its REST endpoint/,
  ],
  [
    "a misspelt option",
    () => upstash({ url, token, prefixes: "a" } as never),
    "prefixes",
    /prefix was meant/,
  ],
  ["no variables", () => httpFromEnv({}), "env", /LEASEHOLD_URL and LEASEHOLD_TOKEN/],
  [
    "half of the variables",
    () => httpFromEnv({ LEASEHOLD_URL: url }),
    "LEASEHOLD_TOKEN",
    /is missing/,
  ],
  [
    "an empty variable",
    () => upstashFromEnv({ KV_REST_API_URL: url, KV_REST_API_TOKEN: "" }),
    "KV_REST_API_TOKEN",
    /is empty/,
  ],
  [
    "a quoted variable",
    () => httpFromEnv({ LEASEHOLD_URL: `"${url}"`, LEASEHOLD_TOKEN: token }),
    "LEASEHOLD_URL",
    /in quotes/,
  ],
  ["no send", () => redis({} as never), "send", /must be a function, not undefined/],
  [
    "a send that is text",
    () => redis({ send: "x" as never }),
    "send",
    /must be a function, not text/,
  ],
  [
    "a client for a connection",
    () => redis({ sendCommand() {}, duplicate() {} } as never),
    "options",
    /pass ioredis\(client\) or nodeRedis\(client\)/,
  ],
  [
    "a prefix with spaces",
    () => redis({ send: async () => [], prefix: "a b" }),
    "prefix",
    /characters of A-Z/,
  ],
  [
    "a URL for a client",
    () => ioredis("redis://localhost" as never),
    "client",
    /a client of ioredis/,
  ],
  ["options for a client", () => nodeRedis({ url } as never), "client", /node-redis/],
];

for (const [name, make, reason, message] of CONSTRUCTED) {
  test(`${name}: told at construction`, () => {
    assert.throws(make, (error: Error) => {
      leaseError("INVALID", { reason })(error);
      assert.match(error.message, message);
      return true;
    });
  });
}

const ASKED: readonly (readonly [string, unknown, string, RegExp])[] = [
  ["null", null, "options", /must be an object, not null/],
  ["a number", 30_000, "options", /name it, such as \{ ttlMs: 30_000 \}/],
  ["ttl", { ttl: 30 }, "ttl", /ttlMs was meant/],
  ["waitMS", { waitMS: 5 }, "waitMS", /waitMs was meant/],
  ["timeout", { timeout: 5 }, "timeout", /timeoutMs was meant/],
  ["abortSignal", { abortSignal: undefined }, "abortSignal", /signal was meant/],
  ["something else", { colour: 1 }, "colour", /is no option here; these are: signal, timeoutMs/],
  ["a signal of null", { signal: null }, "signal", /must be an AbortSignal, not null/],
  ["a controller", { signal: new AbortController() }, "signal", /pass its \.signal/],
  ["a renewal of null", { renewal: null }, "renewal", /must be an object/],
  ["a misspelt part", { renewal: { T1: 0.5 } }, "T1", /t1 was meant/],
];

for (const [name, options, reason, message] of ASKED) {
  test(`options that are or have ${name}: told before anything is sent`, async () => {
    const { client, host } = bench();
    const calls = [
      client.acquire("k", options as AcquireOptions),
      client.tryAcquire("k", options as AcquireOptions),
      client.run("k", options as AcquireOptions, () => {}),
    ];
    for (const call of calls) {
      await assert.rejects(call, (error: Error) => {
        leaseError("INVALID", { reason })(error);
        assert.match(error.message, message);
        return true;
      });
    }
    assert.equal(host.requests.length, 0);
  });
}

test("the bounds of terms, waits and names are the core's own", async () => {
  const host = memory();
  const { signal } = new AbortController();
  let op = 0;
  const takes = async (change: object): Promise<boolean> => {
    op += 1;
    const id = op.toString(16).padStart(32, "0");
    const request = {
      v: 1,
      operation: "acquire",
      op: id,
      lease: id,
      holder: "h",
      ttlMs: 1_000,
    } as const;
    const free = { waitMs: 0, key: `free-${op}`, ...change };
    const { code } = await host.call(
      { ...request, ...free },
      { signal, timeoutMs: 1_000, rebind: false },
    );
    return code !== "INVALID";
  };
  const { client } = bench();
  const passes = async (change: { key?: string } & AcquireOptions): Promise<boolean> => {
    const { key = "k", ...options } = change;
    const gone = AbortSignal.abort("sent nothing");
    const reason = await client.acquire(key, { ...options, signal: gone }).catch((e) => e);
    return reason === "sent nothing";
  };
  const samples = [
    ...[99, 100, 86_400_000, 86_400_001].map((ttlMs) => ({ ttlMs })),
    ...[-1, 0, 86_400_000, 86_400_001].map((waitMs) => ({ waitMs })),
    ...[0, 1, 170, 171, 512, 513].map((length) => ({ key: "k".repeat(length) })),
    ...[170, 171].map((length) => ({ key: "€".repeat(length) })),
    ...[0, 1, 256, 257].map((length) => ({ holder: "h".repeat(length) })),
    ...[85, 86].map((length) => ({ holder: "€".repeat(length) })),
  ];
  for (const sample of samples) {
    assert.equal(await passes(sample), await takes(sample), JSON.stringify(sample).slice(0, 60));
  }
});

/** Exceptions in a carrier's place, and whether another attempt could mend them. */
const EXCEPTIONS: readonly (readonly [string, unknown, boolean])[] = [
  ["a method that is not there", new TypeError("stub.call is not a function"), false],
  ["a method without its object", new TypeError("Illegal invocation"), false],
  [
    "nothing where something belongs",
    new TypeError("Cannot read properties of undefined (reading 'x')"),
    false,
  ],
  ["a name that is not there", new ReferenceError("fetcher is not defined"), false],
  [
    "a signal of another realm",
    new TypeError(
      'RequestInit: Expected signal ("AbortSignal {}") to be an instance of AbortSignal.',
    ),
    false,
  ],
  ["a lost connection", new TypeError("fetch failed"), true],
  ["the same in other engines", new TypeError("Load failed"), true],
  ["a reset", Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }), true],
  ["something thrown", "closed", true],
];

for (const [name, thrown, passes] of EXCEPTIONS) {
  test(`a backend that throws ${name} is ${passes ? "asked again" : "told at once"}`, async () => {
    const { clock, host, client } = bench();
    host.always("acquire", { deliver: 0, answer: { error: thrown } });
    const acquired = client.acquire("k", { waitMs: 5_000 });
    const [code, reason] = passes ? ["UNAVAILABLE", "unreachable"] : ["INVALID", "backend"];
    await assert.rejects(within(clock, passes ? 6_000 : 30, acquired), (error: Error) => {
      leaseError(code as "INVALID", { reason: String(reason) })(error);
      assert.equal(error.cause, thrown);
      return true;
    });
    assert.equal(host.of("acquire").length > 1, passes);
    assert.equal(host.of("cancel").length > 0, passes, "nothing to take back if nothing was done");
  });
}

test("the message of a failure says what came instead, and repeats no secret", async () => {
  const secret = "0123456789abcdef0123456789abcdef";
  for (const [thrown, told] of [
    [
      new TypeError(`this.#${"host"}.call is not a function`),
      /TypeError: this\.#host\.call is not/,
    ],
    [
      new TypeError(`Invalid URL: https://u:${secret}@x, token ${secret}, '${secret}'`),
      /Invalid URL/,
    ],
    [Object.assign(new Error(secret), { code: "ECONNREFUSED" }), /Error \(ECONNREFUSED\)/],
    [
      new TypeError("fetch failed", { cause: { code: "ENOTFOUND", secret } }),
      /TypeError \(ENOTFOUND\)/,
    ],
  ] as const) {
    const backend: LeaseBackend = {
      ...memory(),
      capabilities: memory().capabilities,
      call: () => Promise.reject(thrown),
    };
    const error = await new LeaseClient(backend).acquire("k", { waitMs: 0 }).catch((e: Error) => e);
    assert.match(String(error), told);
    assert.ok(!String(error).includes(secret), String(error));
  }
});

test("a host's words are shown on one line, without what can't be seen, and cut off", async () => {
  const { clock, host, client } = bench();
  const message = `no\u001b[31m\r\n\u202e${"x".repeat(10_000)}`;
  const response = { v: 1, outcome: "refused", code: "DENIED", reason: "out-of-scope", message };
  host.always("*", { answer: { response } });
  for (const call of [() => client.acquire("k"), () => client.inspect("k")]) {
    await assert.rejects(within<unknown>(clock, 30, call()), (error: Error) => {
      leaseError("DENIED")(error);
      assert.match(error.message, /^[\x20-\x7e…]+$/u);
      assert.ok(error.message.length < 600);
      return true;
    });
  }
});
