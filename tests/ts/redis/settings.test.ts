import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LeaseClient, type LeaseError } from "leasehold";
import { redis as redisHost } from "leasehold/redis";
import { upstash, upstashFromEnv } from "leasehold/upstash";
import { suite } from "../../rest-endpoint/harness.ts";
import { leaseError } from "../support/bench.ts";
import { client, freshKey, LONG, stored } from "./subject.ts";

const redis = suite();

/** What the script says of a key that nobody ever held. */
const FREE = JSON.stringify({
  v: 1,
  outcome: "state",
  state: { key: "k", revision: "0", waiters: 0, holders: [] },
});

/** Where a request goes, and with which token. */
async function target(env: Record<string, unknown>): Promise<string> {
  let seen = "";
  const spy: typeof fetch = async (input, init) => {
    const { authorization } = (init?.headers ?? {}) as Record<string, string>;
    seen = `${String(input)} ${authorization}`;
    return Response.json({ result: FREE });
  };
  await new LeaseClient(upstashFromEnv(env, { fetch: spy })).inspect("k");
  return seen;
}

const UPSTASH = { UPSTASH_REDIS_REST_URL: "https://u.example", UPSTASH_REDIS_REST_TOKEN: "ut" };
const KV = { KV_REST_API_URL: "https://kv.example", KV_REST_API_TOKEN: "kt" };

describe("Redis settings: upstashFromEnv", () => {
  test("takes a pair of one family, the first family first", async () => {
    assert.equal(await target(UPSTASH), "https://u.example Bearer ut");
    assert.equal(await target(KV), "https://kv.example Bearer kt");
    assert.equal(await target({ ...KV, ...UPSTASH }), "https://u.example Bearer ut");
    const readOnly = { KV_REST_API_READ_ONLY_TOKEN: "ro" };
    assert.equal(await target({ ...KV, ...readOnly }), "https://kv.example Bearer kt");
  });

  test("trims what was pasted with spaces or a line end", async () => {
    const env = {
      UPSTASH_REDIS_REST_URL: " https://u.example/ \n",
      UPSTASH_REDIS_REST_TOKEN: "\tut\r\n",
    };
    assert.equal(await target(env), "https://u.example Bearer ut");
  });

  test("half a pair is INVALID and names the variable that is missing or empty", () => {
    for (const pair of [UPSTASH, KV]) {
      const names = Object.keys(pair);
      for (const [name, value] of Object.entries(pair)) {
        const reason = names.find((other) => other !== name);
        for (const empty of [{}, { [String(reason)]: "" }]) {
          const made = () => upstashFromEnv({ [name]: value, ...empty });
          assert.throws(made, leaseError("INVALID", { reason: String(reason) }));
        }
      }
    }
    const mixed = {
      UPSTASH_REDIS_REST_URL: UPSTASH.UPSTASH_REDIS_REST_URL,
      KV_REST_API_TOKEN: KV.KV_REST_API_TOKEN,
    };
    assert.throws(() => upstashFromEnv(mixed), leaseError("INVALID"));
  });

  test("a whole pair beats half of another", async () => {
    for (const name of Object.keys(UPSTASH)) {
      const half = Object.fromEntries(Object.entries(UPSTASH).filter(([key]) => key !== name));
      assert.equal(await target({ ...half, ...KV }), "https://kv.example Bearer kt");
    }
  });

  for (const [name, value] of [
    ["UPSTASH_REDIS_REST_URL", '"https://u.example"'],
    ["UPSTASH_REDIS_REST_URL", "u.example"],
    ["UPSTASH_REDIS_REST_URL", "redis://u.example"],
    ["UPSTASH_REDIS_REST_TOKEN", "'a-token'"],
    ["UPSTASH_REDIS_REST_TOKEN", "two words"],
  ] as const) {
    test(`${name} as ${value} is told by its name, without what is in it`, () => {
      assert.throws(
        () => upstashFromEnv({ ...UPSTASH, [name]: value }),
        (error: LeaseError) => {
          leaseError("INVALID", { reason: name })(error);
          assert.ok(!error.message.includes(value));
          return true;
        },
      );
    });
  }

  test("nothing at all is INVALID and names what is missing", () => {
    assert.throws(() => upstashFromEnv({}), /UPSTASH_REDIS_REST_URL/);
    assert.throws(() => upstashFromEnv({}), leaseError("INVALID"));
    assert.throws(
      () => upstashFromEnv({ ...UPSTASH, UPSTASH_REDIS_REST_URL: 7 }),
      leaseError("INVALID"),
    );
  });

  test("no error shows the token", () => {
    const token = "a token with spaces";
    for (const env of [
      { ...UPSTASH, UPSTASH_REDIS_REST_TOKEN: token },
      { UPSTASH_REDIS_REST_TOKEN: token },
      { ...UPSTASH, UPSTASH_REDIS_REST_TOKEN: token, UPSTASH_REDIS_REST_URL: "nowhere" },
    ]) {
      assert.throws(
        () => upstashFromEnv(env),
        (error) => {
          leaseError("INVALID")(error);
          assert.ok(!String(error).includes(token));
          return true;
        },
      );
    }
  });
});

describe("Redis settings: URL, token, prefix", () => {
  test("the URL is http or https, without what does not belong there", () => {
    for (const url of [
      "",
      "u.example",
      "redis://u.example:6379",
      "rediss://default:secret@u.example:6379",
      "file:///etc",
      "https://default:secret@u.example",
      "https://u.example?_token=secret",
      "https://u.example#secret",
    ]) {
      assert.throws(
        () => upstash({ url, token: "t" }),
        (error) => {
          leaseError("INVALID", { reason: "url" })(error);
          assert.ok(!String(error).includes("secret"));
          return true;
        },
      );
    }
    assert.throws(
      () => upstash({ url: undefined as unknown as string, token: "t" }),
      leaseError("INVALID"),
    );
  });

  test("the token is one word", () => {
    for (const token of ["", "  ", "a b", "a\nb", "ключ", undefined]) {
      const options = { url: "https://u.example", token: token as string };
      assert.throws(() => upstash(options), leaseError("INVALID", { reason: "token" }));
    }
  });

  test("the prefix is 1 to 64 characters that are safe in a channel's name", async () => {
    const host = (prefix: string) => redisHost({ prefix, send: async () => FREE });
    for (const prefix of ["a", "Az09_.:-", "x".repeat(64), "..", "v1:leases"]) {
      assert.equal(await new LeaseClient(host(prefix)).inspect("k"), undefined);
    }
    for (const prefix of ["", "x".repeat(65), "a b", "a/b", "a,b", "{a}", "a\n", "ä", "a%", "\0"]) {
      assert.throws(() => host(prefix), leaseError("INVALID", { reason: "prefix" }), prefix);
    }
  });

  test("two prefixes do not see each other", async () => {
    const endpoint = await redis.endpoint();
    const key = freshKey();
    const green = client(endpoint, { endpoint: { prefix: "green" } });
    const blue = client(endpoint, { endpoint: { prefix: "blue" } });
    const lease = await green.acquire(key, { ttlMs: LONG });
    assert.equal(await blue.inspect(key), undefined);
    const other = await blue.tryAcquire(key, { ttlMs: LONG });
    assert.ok(other);
    assert.equal(await blue.revoke(key), true);
    await lease.verify();
    for (const name of await stored(redis.direct)) assert.match(name, /^(green|blue):/);
    await lease.release();
  });
});

describe("Redis settings: the oldest runtime", () => {
  test("waiting and settings need nothing that Node 20 has not got", async () => {
    const program = `
      delete Promise.withResolvers;
      delete Promise.try;
      delete URL.parse;
      const { LeaseClient } = await import("leasehold");
      const { upstash } = await import("leasehold/upstash");
      const { URL: url, TOKEN: token } = process.env;
      const leases = new LeaseClient(upstash({ url, token }));
      const lease = await leases.acquire("k");
      const waiting = leases.acquire("k");
      setTimeout(() => lease.release(), 200);
      console.log((await (await waiting).release()).released);
    `;
    const endpoint = await redis.endpoint();
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "--eval", program],
      {
        cwd: fileURLToPath(new URL("../../..", import.meta.url)),
        env: { ...process.env, URL: endpoint.url, TOKEN: endpoint.token },
        timeout: 20_000,
      },
    );
    assert.equal(stdout.trim(), "true");
  });
});
