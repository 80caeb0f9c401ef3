import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeaseError, type LeaseErrorCode } from "leasehold";
import {
  d1Fence,
  FENCE_SCHEMA,
  type Fenced,
  FencedObject,
  type ObjectStore,
  r2Objects,
  s3Objects,
} from "leasehold/fence";
import { Miniflare, type MiniflareOptions } from "miniflare";
import { bundle } from "../workerd/harness.ts";
import { guards, type Store } from "./contract.ts";

async function workerd(): Promise<Miniflare> {
  return new Miniflare({
    modules: await bundle(fileURLToPath(new URL("./worker.ts", import.meta.url))),
    compatibilityDate: "2026-07-01",
    durableObjects: { LEDGERS: { className: "Ledger", useSQLite: true } },
    d1Databases: ["DB"],
    r2Buckets: ["BUCKET"],
  } as MiniflareOptions);
}

guards("Durable Object storage", async () => {
  const runtime = await workerd();
  const url = new URL("/ledger", await runtime.ready);
  const call = async (method: string, lease: Fenced, line?: string): Promise<unknown> => {
    const body = JSON.stringify({ method, lease, line }, (_, value: unknown) =>
      typeof value === "bigint" ? `${value}n` : value,
    );
    const response = await fetch(url, { method: "POST", body });
    const { answer, code, reason, message } = (await response.json()) as Record<string, string>;
    if (message !== undefined) throw new LeaseError(code as LeaseErrorCode, message, { reason });
    return answer;
  };
  return {
    advance: (lease) => call("advance", lease),
    write: (lease, line) => call("write", lease, line),
    lines: async (lease) => (await call("lines", lease)) as string[],
    close: () => runtime.dispose(),
  };
});

guards("D1", async () => {
  const runtime = await workerd();
  const database = await runtime.getD1Database("DB");
  await database.exec(FENCE_SCHEMA.sqlite);
  await database.exec(
    "CREATE TABLE line (id INTEGER PRIMARY KEY, name TEXT, slot INTEGER, line TEXT)",
  );
  const guard = d1Fence(database);
  const insert = database.prepare("INSERT INTO line (name, slot, line) VALUES (?, ?, ?)");
  return {
    advance: (lease) => guard.advance(lease),
    write: async (lease, line) => {
      const results = await guard.batch(lease, [insert.bind(lease.key, lease.slot ?? 0, line)]);
      assert.equal(results.length, 1);
    },
    lines: async ({ key, slot = 0 }) => {
      const select = "SELECT line FROM line WHERE name = ? AND slot = ? ORDER BY id";
      const { results } = await database.prepare(select).bind(key, slot).all<{ line: string }>();
      return results.map(({ line }) => line);
    },
    close: () => runtime.dispose(),
  };
});

const stores: Record<string, (runtime: Miniflare) => Promise<ObjectStore>> = {
  "R2 by its binding": async (runtime) => r2Objects(await runtime.getR2Bucket("BUCKET")),
  "R2 behind the S3 API": async (runtime) => s3Objects({ url: String(await runtime.ready), fetch }),
};

for (const [name, open] of Object.entries(stores)) {
  /** Lines in one object per key and slot: read, and written back as a whole. */
  guards(name, async (): Promise<Store> => {
    const runtime = await workerd();
    const store = await open(runtime);
    const object = ({ key, slot = 0 }: Fenced) => new FencedObject(store, `lines/${key}/${slot}`);
    const lines = async (lease: Fenced) => {
      const text = await object(lease).read();
      return text === undefined ? [] : text.split("\n");
    };
    return {
      advance: (lease) => object(lease).advance(lease),
      write: async (lease, line) => {
        await object(lease).advance(lease);
        await object(lease).write(lease, [...(await lines(lease)), line].join("\n"));
      },
      lines,
      close: () => runtime.dispose(),
    };
  });

  test(`${name}: an object is as it was left, whatever its text`, async () => {
    const runtime = await workerd();
    try {
      const object = new FencedObject(await open(runtime), "a b/ü?.txt");
      assert.equal(await object.read(), undefined);
      assert.equal(await object.advance({ key: "k", fence: 1n }), undefined);
      assert.equal(await object.read(), undefined);
      for (const text of ["", "one line", "two\nlines\n", '{"fence":"9"}\n']) {
        await object.write({ key: "k", fence: 2n }, text);
        assert.equal(await object.read(), text);
        assert.equal(await object.advance({ key: "k", fence: 2n }), text);
      }
      await assert.rejects(object.write({ key: "other", fence: 3n }, ""), { code: "INVALID" });
      await assert.rejects(object.write({ key: "k", fence: 3n, slot: 1 }, ""), { code: "INVALID" });
    } finally {
      await runtime.dispose();
    }
  });

  test(`${name}: equal texts don't let a stale writer pass, and foreign ones stay`, async () => {
    const runtime = await workerd();
    try {
      const store = await open(runtime);
      const object = new FencedObject(store, "state");
      await object.write({ key: "k", fence: 1n }, "same");
      // The stale holder has read, and pauses before its put.
      const paused = Promise.withResolvers<void>();
      const read = Promise.withResolvers<void>();
      const slow: ObjectStore = {
        get: (key) => store.get(key),
        put: async (key, text, etag) => {
          read.resolve();
          await paused.promise;
          return store.put(key, text, etag);
        },
      };
      const stale = new FencedObject(slow, "state").write({ key: "k", fence: 1n }, "stale");
      await read.promise;
      await object.write({ key: "k", fence: 2n }, "same");
      paused.resolve();
      await assert.rejects(stale, { code: "LOST", reason: "fenced-out" });
      assert.equal(await object.read(), "same");

      const foreign = new FencedObject(store, "foreign");
      for (const [name, text] of [
        ["foreign", "somebody's own text"],
        ["foreign", '{"key":"k"}\nalmost'],
      ] as const) {
        const { etag } = (await store.get(name)) ?? {};
        assert.ok(await store.put(name, text, etag));
        const write = foreign.write({ key: "k", fence: 1n }, "ours");
        await assert.rejects(write, { code: "UNAVAILABLE", reason: "foreign-value" });
        assert.equal((await store.get(name))?.text, text);
      }
    } finally {
      await runtime.dispose();
    }
  });
}

test("a bucket that conflicts for ever, or is out of order, is told", async () => {
  const busy: ObjectStore = { get: async () => undefined, put: async () => false };
  const write = new FencedObject(busy, "state").write({ key: "k", fence: 1n }, "text");
  await assert.rejects(write, { code: "UNAVAILABLE", reason: "contended" });
  for (const [status, code] of [
    [503, "UNAVAILABLE"],
    [301, "UNAVAILABLE"],
    [401, "DENIED"],
    [403, "DENIED"],
  ] as const) {
    const fetch = async () => new Response("", { status });
    const broken = s3Objects({ url: "https://b", fetch });
    const told = { code, message: new RegExp(`\\b${status}\\b`) };
    await assert.rejects(broken.get("state"), told);
    await assert.rejects(broken.put("state", "", undefined), told);
  }
});

test("a bucket that is not there is told at once", async () => {
  const asked: string[] = [];
  const store = s3Objects({
    url: "https://b",
    fetch: async (_url, { method = "" }) => {
      asked.push(method);
      return new Response("", { status: 404 });
    },
  });
  const write = new FencedObject(store, "state").write({ key: "k", fence: 1n }, "text");
  await assert.rejects(write, { code: "INVALID", reason: "url" });
  assert.deepEqual(asked, ["GET", "PUT"]);
  assert.equal(await store.put("state", "", '"an-etag"'), false, "deleted since it was read");
});
