/** What a user of the server must be allowed, and what it is told where something is missing. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { Redis } from "ioredis";
import { LeaseClient, LeaseError } from "leasehold";
import { ioredis } from "leasehold/ioredis";
import { RedisConnection } from "../../rest-endpoint/redis.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
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

  /** Leases as a user who is allowed this. */
  async function leasesOf(user: string, allowed: readonly string[]): Promise<LeaseClient> {
    const made = await direct.send("ACL", "SETUSER", user, "on", ">secret", ...allowed);
    assert.equal(made.kind, "simple", JSON.stringify(made));
    const client = new Redis({ port: server.port, username: user, password: "secret" });
    client.on("error", () => {});
    clients.push(client);
    return new LeaseClient(ioredis(client));
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
  async function useAll(leases: LeaseClient): Promise<void> {
    const key = freshKey();
    const foreign = freshKey();
    // A fence from the future, and a record that is somebody else's.
    await direct.send("SET", record(key, "fence"), "9000000000000000");
    await direct.send("SET", record(foreign, "lease"), "a user's text");
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
    // A release tells only that it is not confirmed; who revokes is told why.
    if (!(await lease.release()).released) await leases.revoke(key);
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
  }

  test("the documented rules are enough", async () => {
    await useAll(await leasesOf("all", rules));
  });

  test("each missing command is DENIED at once, by its name", async () => {
    const commands = rules.filter((rule) => rule.startsWith("+") && !OPTIONAL.has(rule));
    for (const command of commands) {
      // A script that is known needs no EVAL.
      await direct.send("SCRIPT", "FLUSH");
      const leases = await leasesOf(
        `without-${command.slice(1)}`,
        rules.filter((rule) => rule !== command),
      );
      const used = useAll(leases).then(() => assert.fail(`nothing needs ${command}`));
      await assert.rejects(used, (error: Error) => {
        leaseError("DENIED", { reason: "not-permitted" })(error);
        assert.ok(error.message.includes(` run ${command.slice(1).toUpperCase()}:`), error.message);
        return true;
      });
    }
  });

  test("keys that are not allowed are DENIED at once", async () => {
    const leases = await leasesOf(
      "without-keys",
      rules.map((rule) => (rule.startsWith("~") ? "~other:*" : rule)),
    );
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
