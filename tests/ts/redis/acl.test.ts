/** What a user of the server must be allowed, and what it is told where something is missing. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { Redis } from "ioredis";
import { type LeaseBackend, LeaseClient, LeaseError, type WireRequest } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { RedisConnection } from "../../rest-endpoint/redis.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { op } from "../contract/wrappers.ts";
import { leaseError } from "../support/bench.ts";
import { freshKey, LONG, record } from "./subject.ts";

const DOCUMENT = new URL("../../../docs/redis.md", import.meta.url);

/** The rules of the user that the documentation makes. */
async function documented(): Promise<string[]> {
  const text = await readFile(DOCUMENT, "utf8");
  const rules = /ACL SETUSER leases on >\S+ ([^`]*)/.exec(text)?.[1] ?? "";
  return rules.replaceAll("\\\n", " ").split(/\s+/).filter(Boolean);
}

describe("Redis permissions", () => {
  let server: RedisServer;
  let direct: RedisConnection;
  let rules: string[];
  const clients: Redis[] = [];

  before(async () => {
    server = await RedisServer.start();
    direct = await RedisConnection.open(server);
    rules = await documented();
    assert.ok(rules.length > 10, `no rules in ${DOCUMENT}`);
  });
  after(async () => {
    for (const client of clients) client.disconnect();
    direct.close();
    await server.close();
  });

  /** The server as a host for a user who is allowed this. */
  async function hostOf(user: string, allowed: readonly string[]): Promise<LeaseBackend> {
    const made = await direct.send("ACL", "SETUSER", user, "on", ">secret", ...allowed);
    assert.equal(made.kind, "simple", JSON.stringify(made));
    const client = new Redis({ port: server.port, username: user, password: "secret" });
    client.on("error", () => {});
    clients.push(client);
    return ioredis(client);
  }

  /** A wait that the server knows of, or what it fails with. */
  async function waits(leases: LeaseClient, key: string, waiting: Promise<unknown>): Promise<void> {
    let failure: unknown;
    waiting.catch((error: unknown) => {
      failure = error;
    });
    while ((await leases.inspect(key))?.waiters !== 1) {
      if (failure !== undefined) throw failure;
    }
  }

  /** Everything there is to a lease. */
  async function useAll(host: LeaseBackend): Promise<void> {
    const leases = new LeaseClient(host);
    const key = freshKey();
    const foreign = freshKey();
    // A record that is somebody else's.
    await direct.send("RPUSH", record(foreign), "a user's text");
    const refused = leases.acquire(foreign);
    await assert.rejects(refused, (error: Error) => {
      if (LeaseError.is(error) && error.code === "DENIED") throw error;
      return leaseError("UNAVAILABLE", { reason: "foreign-value" })(error);
    });
    const lease = await leases.acquire(key, { ttlMs: LONG });
    const waiting = leases.acquire(key, { ttlMs: LONG });
    await waits(leases, key, waiting);
    await lease.renew();
    await lease.verify();
    const { cause } = await lease.release();
    if (cause !== undefined) throw cause;
    const next = await waiting;
    const handle = await next.transfer("next");
    const last = await leases.resume(handle);
    await leases.revoke(key);
    await assert.rejects(last.renew(), leaseError("LOST", { reason: "revoked" }));
    const gone = new AbortController();
    await using held = await leases.acquire(key, { ttlMs: LONG });
    const given = leases.acquire(key, { signal: gone.signal });
    await waits(leases, key, given);
    gone.abort(new Error("enough"));
    await assert.rejects(given, /enough/);
    assert.ok(held.held);
    const send = async (request: WireRequest) => {
      const answer = await op.send(host, request);
      if (answer.outcome === "refused") throw Object.assign(new Error(answer.message), answer);
    };
    const first = op.acquire(freshKey());
    await send(first);
    const entry = { ...op.release(first), operation: "entry", name: "n" } as const;
    await send({ ...entry, value: "1", number: 1 });
    await send({ ...entry, number: 2 });
    await send({ v: 1, operation: "list", key: "", op: first.op, prefix: "" });
  }

  test("the documented rules are enough", async () => {
    await useAll(await hostOf("all", rules));
  });

  test("each missing command is DENIED at once, by its name", async () => {
    const commands = rules.filter((rule) => rule.startsWith("+") && !OPTIONAL.has(rule));
    for (const command of commands) {
      // A script that is known needs no EVAL.
      await direct.send("SCRIPT", "FLUSH");
      const host = await hostOf(
        `without-${command.slice(1)}`,
        rules.filter((rule) => rule !== command),
      );
      const used = useAll(host).then(() => assert.fail(`nothing needs ${command}`));
      await assert.rejects(used, (error: Error & { code?: unknown; reason?: unknown }) => {
        assert.deepEqual([error.code, error.reason], ["DENIED", "not-permitted"], String(error));
        assert.ok(error.message.includes(` run ${command.slice(1).toUpperCase()}:`), error.message);
        return true;
      });
    }
  });

  for (const rule of ["+publish", "+subscribe", "&leasehold:*"]) {
    test(`without ${rule} a waiter polls, and misses nothing but time`, async () => {
      const allowed = rules.filter((each) => each !== rule);
      const leases = new LeaseClient(await hostOf(`hears-nothing-without-${rule}`, allowed));
      const key = freshKey();
      const lease = await leases.acquire(key, { ttlMs: LONG });
      const waiting = leases.acquire(key, { ttlMs: LONG });
      await waits(leases, key, waiting);
      assert.deepEqual(await lease.release(), { released: true });
      assert.deepEqual(await (await waiting).release(), { released: true });
    });
  }

  test("a release that the user may not make says which permission it lacks", async () => {
    const leases = new LeaseClient(await hostOf("changing", rules));
    const lease = await leases.acquire(freshKey(), { ttlMs: LONG });
    await direct.send("ACL", "SETUSER", "changing", "-set");
    const { released, reason, cause } = await lease.release();
    assert.deepEqual([released, reason, cause?.code], [false, "not-permitted", "DENIED"]);
    assert.match(cause?.message ?? "", / run SET:/);
  });

  test("keys that are not allowed are DENIED at once", async () => {
    const host = await hostOf(
      "without-keys",
      rules.map((rule) => (rule.startsWith("~") ? "~other:*" : rule)),
    );
    const leases = new LeaseClient(host);
    await assert.rejects(leases.acquire(freshKey()), (error: Error) => {
      leaseError("DENIED", { reason: "not-permitted" })(error);
      assert.match(error.message, /may not touch the keys/);
      return true;
    });
  });

  test("no user, or a wrong password, is DENIED at once", async () => {
    await direct.send("ACL", "SETUSER", "other", "on", ">another");
    const client = new Redis({ port: server.port, username: "other", password: "secret" });
    client.on("error", () => {});
    clients.push(client);
    await direct.send("ACL", "SETUSER", "default", "off");
    const leases = new LeaseClient(ioredis(client));
    await assert.rejects(leases.acquire("k"), leaseError("DENIED", { reason: "unauthorized" }));
  });
});

/** Without these there is no word on eviction, and waiters poll. */
const OPTIONAL = new Set(["+info", "+publish", "+subscribe", "+unsubscribe"]);
