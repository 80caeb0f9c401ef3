import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { LeaseClient, LeaseError, type LeaseErrorCode } from "leasehold";
import { upstash } from "leasehold/upstash";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import type { Fault } from "../../rest-endpoint/faults.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { ask, client, freshKey, LONG, record, secretName } from "./subject.ts";

const redis = suite();

/** Everything a person could come to see of an error. */
function shown(error: unknown): string {
  return [
    String(error),
    inspect(error, { depth: 20, showHidden: true }),
    JSON.stringify(error),
  ].join();
}

/** The op, lease and holder of each request the endpoint has had, and its token. */
function secrets(endpoint: RestEndpoint): string[] {
  const words = endpoint.requests.all.flatMap(({ commands }) => commands.flat());
  const secret = /\b([0-9a-f]{32}|holder-[0-9a-f]+)\b/g;
  return [...words.flatMap((word) => word.match(secret) ?? []), endpoint.token];
}

/** The error of one attempt to acquire, free of secrets. */
async function refusal(endpoint: RestEndpoint, token = endpoint.token): Promise<LeaseError> {
  const leases = client(endpoint, { holder: secretName(), endpoint: { token } });
  const error = await leases.acquire(freshKey(), { waitMs: 0 }).then(
    () => assert.fail("was granted"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof LeaseError, String(error));
  for (const secret of [...secrets(endpoint), token]) {
    assert.ok(!shown(error).includes(secret), `no secret in ${shown(error)}`);
  }
  return error;
}

/** Says no, whatever is asked. */
async function assertRefused(
  endpoint: RestEndpoint,
  code: LeaseErrorCode,
  reason: string,
): Promise<void> {
  const error = await refusal(endpoint);
  assert.deepEqual([error.code, error.reason], [code, reason]);
}

describe("Redis errors: tokens", () => {
  test("a wrong token is DENIED, however the endpoint says so", async () => {
    const endpoint = await redis.endpoint();
    const error = await refusal(endpoint, "another-token-than-the-right-one");
    assert.deepEqual([error.code, error.reason], ["DENIED", "unauthorized"]);
    for (const status of [401, 403]) {
      endpoint.faults.add({ kind: "status", status, body: "json" });
      await assertRefused(endpoint, "DENIED", "unauthorized");
    }
  });

  test("a page of something in between says nothing about the token, and is told at once", async () => {
    const endpoint = await redis.endpoint();
    for (const status of [401, 403, 404]) {
      for (const body of ["text", "html"] as const) {
        const rule = endpoint.faults.add({ kind: "status", status, body }, { times: Infinity });
        const waiting = client(endpoint).acquire(freshKey(), { waitMs: 5_000 });
        await assert.rejects(waiting, leaseError("UNAVAILABLE", { reason: "foreign-answer" }));
        // The acquire, and nothing to take back.
        assert.equal(rule.fired, 1);
        endpoint.faults.clear();
      }
    }
  });

  test("a page of something in between ends no lease", async () => {
    const endpoint = await redis.endpoint();
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
    endpoint.faults.add({ kind: "status", status: 403, body: "html" });
    await assert.rejects(lease.renew(), leaseError("UNAVAILABLE", { reason: "foreign-answer" }));
    assert.ok(lease.held);
    await lease.renew();
    assert.deepEqual(await lease.release(), { released: true });
  });

  test("a read-only token is DENIED and never looks like a held key", async () => {
    const endpoint = await redis.endpoint({ readOnlyToken: "read-only-token-of-the-test" });
    const error = await refusal(endpoint, "read-only-token-of-the-test");
    assert.deepEqual([error.code, error.reason], ["DENIED", "not-permitted"]);
  });

  test("a token refused while a lease is held does not end it at once, and the release tells", async () => {
    const endpoint = await redis.endpoint();
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
    const rule = endpoint.faults.add({ kind: "status", status: 401, body: "json" }, { times: 2 });
    await assert.rejects(lease.renew(), leaseError("DENIED", { reason: "unauthorized" }));
    assert.ok(lease.held);
    assert.equal((await lease.release()).released, false);
    assert.equal(rule.fired, 2);
  });
});

describe("Redis errors: the service", () => {
  for (const limit of ["daily", "requests"] as const) {
    test(`a used up quota (${limit}) is UNAVAILABLE and not asked again`, async () => {
      const endpoint = await redis.endpoint();
      endpoint.faults.add({ kind: "quota", limit, status: 429 }, { times: Infinity });
      await assertRefused(endpoint, "UNAVAILABLE", "quota");
      const before = endpoint.requests.total;
      const waiting = client(endpoint).acquire(freshKey(), { waitMs: 5_000 });
      await assert.rejects(waiting, leaseError("UNAVAILABLE", { reason: "quota" }));
      assert.equal(endpoint.requests.total, before + 1);
    });
  }

  test("a quota that runs out while a lease is held ends it before its term does", async () => {
    const endpoint = await redis.endpoint();
    const begun = performance.now();
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: 1_000 });
    endpoint.faults.add({ kind: "quota", limit: "daily" }, { times: Infinity });
    await new Promise<void>((done) => lease.signal.addEventListener("abort", () => done()));
    assert.ok(performance.now() - begun < 1_000);
    assert.equal(lease.held, false);
  });

  const unclear: readonly [string, Fault][] = [
    ...([429, 500, 502, 503] as const).flatMap((status) =>
      (["json", "text", "html"] as const).map((body): [string, Fault] => [
        `${status} as ${body}`,
        { kind: "status", status, body },
      ]),
    ),
    ["an empty 204", { kind: "empty" }],
    ["a body cut short", { kind: "truncate" }],
    ["a body cut short that looks complete", { kind: "truncate", complete: true }],
    ["no body at all", { kind: "truncate", bytes: 0, complete: true }],
    ["a cut connection", { kind: "drop-before" }],
    ["an error nobody knows", { kind: "reply-error", error: "ERR what happened is unclear" }],
  ];
  for (const [name, fault] of unclear) {
    test(`${name} is UNAVAILABLE, and a wait goes on past it`, async () => {
      const endpoint = await redis.endpoint();
      const rule = endpoint.faults.add(fault, { command: "evalsha" });
      await assertRefused(endpoint, "UNAVAILABLE", "unreachable");
      assert.equal(rule.fired, 1);
      const again = endpoint.faults.add(fault, { command: "evalsha" });
      const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
      assert.equal(again.fired, 1);
      assert.deepEqual(await lease.release(), { released: true });
    });
  }

  for (const answer of ["null", "[]", "17", '"OK"', "[[1],{}]", '["granted"]', '["held"]']) {
    test(`the result ${answer} is UNAVAILABLE, never a held key`, async () => {
      const endpoint = await redis.endpoint();
      const replaced: typeof fetch = async () => new Response(`{"result":${answer}}`);
      const leases = client(endpoint, { endpoint: { fetch: replaced } });
      for (const asked of [
        leases.tryAcquire(freshKey()),
        leases.inspect(freshKey()),
        leases.revoke(freshKey()),
      ]) {
        await assert.rejects(asked, leaseError("UNAVAILABLE"));
      }
    });
  }

  test("a hang ends by our own deadline", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "hang" }, { times: Infinity });
    const begun = performance.now();
    const error = await refusal(endpoint);
    assert.equal(error.code, "UNAVAILABLE");
    assert.ok(performance.now() - begun < 6_000);
  });

  test("throttling without bound ends by our own deadline", async () => {
    const endpoint = await redis.endpoint();
    await client(endpoint).inspect(freshKey());
    endpoint.throttle(0.01);
    await client(endpoint).inspect(freshKey());
    const error = await refusal(endpoint);
    assert.equal(error.code, "UNAVAILABLE");
    endpoint.throttle(Infinity);
  });

  test("nobody at the port is UNAVAILABLE and says why", async () => {
    const probe = createServer().listen(0, "127.0.0.1");
    await new Promise((listening) => probe.once("listening", listening));
    const { port } = probe.address() as { port: number };
    await new Promise((closed) => probe.close(closed));
    const leases = new LeaseClient(
      upstash({ url: `http://127.0.0.1:${port}`, token: "t-o-k-e-n" }),
    );
    await assert.rejects(leases.acquire("k", { waitMs: 0 }), (error) => {
      leaseError("UNAVAILABLE", { reason: "unreachable" })(error);
      assert.match(shown(error), /ECONNREFUSED/);
      assert.doesNotMatch(shown(error), /t-o-k-e-n/);
      return true;
    });
  });

  test("a redirect is not followed: the credential stays with the endpoint", async () => {
    const endpoint = await redis.endpoint();
    const elsewhere = await redis.endpoint();
    const redirected: typeof fetch = (input, init) =>
      init?.redirect === "manual"
        ? Promise.resolve(new Response(null, { status: 307, headers: { location: elsewhere.url } }))
        : fetch(elsewhere.url, init).then(() => fetch(input, init));
    const leases = client(endpoint, { endpoint: { fetch: redirected } });
    await assert.rejects(leases.acquire(freshKey(), { waitMs: 0 }), leaseError("UNAVAILABLE"));
    assert.equal(elsewhere.requests.total, 0);
  });
});

describe("Redis errors: the server", () => {
  test("a server without script commands is DENIED", async () => {
    const endpoint = await redis.endpoint();
    const disabled = (name: string) => {
      const error = `ERR unknown command '${name}', with args beginning with: 'NOSCRIPT' 'WRONGPASS'`;
      endpoint.faults.add({ kind: "reply-error", error }, { command: name, times: Infinity });
    };
    disabled("evalsha");
    await assertRefused(endpoint, "DENIED", "no-scripts");
    assert.equal(endpoint.requests.withCommand("eval").length, 0);
    endpoint.faults.clear();
    disabled("eval");
    await assertRefused(endpoint, "DENIED", "no-scripts");
  });

  test("READONLY, MISCONF: no grant, and a release says that it is not through", async () => {
    const faults: readonly (readonly [string, Fault])[] = [
      ["read-only", { kind: "read-only-replica" }],
      [
        "cannot-persist",
        { kind: "reply-error", error: "MISCONF Errors writing to the AOF file: No space left" },
      ],
    ];
    const releases = faults.map(async ([reason, fault]) => {
      const endpoint = await redis.endpoint();
      const failures: unknown[] = [];
      const lease = await client(endpoint, {
        onEvent: (event) => event.type === "releasefailed" && failures.push(event.error),
      }).acquire(freshKey(), { ttlMs: LONG });
      endpoint.faults.add(fault, { times: Infinity });
      await assertRefused(endpoint, "UNAVAILABLE", reason);
      const releasing = lease.release();
      assert.equal(lease.held, false);
      assert.deepEqual(await releasing, { released: false, reason: "unconfirmed" });
      assert.equal(failures.length, 1);
      leaseError("UNAVAILABLE")(failures[0]);
    });
    await Promise.all(releases);
  });

  test("a passing refusal is waited out", async () => {
    const endpoint = await redis.endpoint();
    endpoint.faults.add({ kind: "reply-error", error: "OOM command not allowed" }, { times: 2 });
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG });
    assert.deepEqual(await lease.release(), { released: true });
  });

  test("an error that hides a grant leaves no orphan", async () => {
    const endpoint = await redis.endpoint();
    let hide = true;
    const hiding: typeof fetch = async (input, init) => {
      const response = await fetch(input, init);
      if (!hide || !String(init?.body).includes("lease")) return response;
      const body = await response.clone().text();
      if (!body.includes("granted")) return response;
      hide = false;
      return Response.json({ error: "ERR the database cannot be reached" }, { status: 503 });
    };
    const key = freshKey();
    const leases = client(endpoint, { endpoint: { fetch: hiding } });
    await assert.rejects(leases.acquire(key, { waitMs: 0 }), leaseError("UNAVAILABLE"));
    assert.equal(hide, false);
    await eventually("the grant is taken back", async () => {
      return (await client(endpoint).inspect(key)) === undefined;
    });
  });

  test("a server that knows no flags at all, as before version 7, is served without", async () => {
    const endpoint = await redis.endpoint();
    const error =
      "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'";
    endpoint.faults.add(
      { kind: "reply-error", error },
      { times: Infinity, where: ({ commands }) => commands[0]?.[1]?.startsWith("#!lua") ?? false },
    );
    const lease = await client(endpoint).acquire(freshKey(), { ttlMs: LONG, waitMs: 0 });
    assert.deepEqual(await lease.release(), { released: true });
  });
});

describe("Redis errors: foreign values", () => {
  const foreign: readonly [string, string[], string[]][] = [
    ["string", ["SET"], ["a user's text"]],
    ["hash", ["HSET"], ["field", "value"]],
    ["list", ["RPUSH"], ["item"]],
  ];
  for (const [kind, [command = ""], values] of foreign) {
    test(`a ${kind} where the lease belongs is left alone`, async () => {
      const endpoint = await redis.endpoint();
      const key = freshKey();
      const name = record(key);
      await redis.direct.send(command, name, ...values);
      await redis.direct.send("PEXPIRE", name, "3600000");
      const before = await ask(redis.direct, "DUMP", name);
      const expiry = await ask(redis.direct, "PEXPIRETIME", name);
      const error = await client(endpoint)
        .acquire(key, { waitMs: 0 })
        .catch((reason: unknown) => reason);
      leaseError("UNAVAILABLE", { reason: "foreign-value" })(error);
      assert.ok(String(error).includes(JSON.stringify(key)));
      assert.ok(String(error).includes(` ${kind} `), String(error));
      assert.ok(!shown(error).includes("a user's text"));
      assert.equal(await ask(redis.direct, "DUMP", name), before);
      assert.equal(await ask(redis.direct, "PEXPIRETIME", name), expiry);
    });

    test(`a ${kind} put over a held lease ends no lease, and is left alone`, async () => {
      const endpoint = await redis.endpoint();
      const key = freshKey();
      const name = record(key);
      const lease = await client(endpoint).acquire(key, { ttlMs: LONG });
      await redis.direct.send("DEL", name);
      await redis.direct.send(command, name, ...values);
      const before = await ask(redis.direct, "DUMP", name);
      const foreign = leaseError("UNAVAILABLE", { reason: "foreign-value" });
      await assert.rejects(lease.renew(), foreign);
      await assert.rejects(lease.verify(), foreign);
      assert.ok(lease.held);
      await assert.rejects(client(endpoint).inspect(key), foreign);
      await assert.rejects(client(endpoint).revoke(key), foreign);
      const { released, cause } = await lease.release();
      assert.equal(released, false);
      foreign(cause);
      assert.equal(await ask(redis.direct, "DUMP", name), before);
    });
  }

  test("a document with a word missing is not believed", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const name = record(key);
    await client(endpoint).acquire(key, { ttlMs: LONG });
    const sound = (await ask(redis.direct, "GET", name)) ?? "";
    const words = sound.split(/(?<=\s)/);
    assert.ok(words.length > 15);
    for (const index of words.keys()) {
      await redis.direct.send("SET", name, words.with(index, "").join(""));
      const acquiring = client(endpoint).acquire(key, { waitMs: 0 });
      await assert.rejects(acquiring, leaseError("UNAVAILABLE", { reason: "foreign-value" }));
    }
  });
});
