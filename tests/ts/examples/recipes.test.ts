import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Lease, LeaseClient } from "leasehold";
import { testLeases } from "leasehold/testing";
import { step } from "../../../examples/recipes/steps.ts";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { install } from "../support/install.ts";
import { Workers } from "../workerd/harness.ts";

const root = new URL("../../../", import.meta.url);

describe("recipes", () => {
  test("the page shows what the examples do", async () => {
    const page = await readFile(new URL("docs/recipes.md", root), "utf8");
    const sections = page.split(/^## /m).filter((section) => section.includes("```ts"));
    for (const section of sections) {
      const [, file = ""] = /\]\(\.\.\/(examples\/\S+\.ts)\)/.exec(section) ?? [];
      if (section.startsWith("Steps")) continue; // The calls of this test's own.
      const squeeze = (text: string) => text.replace(/\s+/g, " ");
      const source = squeeze(await readFile(new URL(file, root), "utf8"));
      for (const [, code = ""] of section.matchAll(/```ts\n(.*?)```/gs)) {
        assert.ok(source.includes(squeeze(code).trim()), `${file} has\n${code}`);
      }
    }
    assert.ok(sections.length >= 4);
  });

  test("Hono: who comes second is told when to come again, faults are the server's", async (t) => {
    await install(fileURLToPath(new URL("examples/hono", root)));
    const { app } = (await import(new URL("examples/hono/app.ts", root).href)) as {
      app(
        leases: LeaseClient,
        ship: (id: string, lease: Lease) => Promise<string>,
      ): { request(path: string, init: object): Promise<Response> };
    };
    const { leases } = testLeases();
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: kept, resolve: finish } = Promise.withResolvers<void>();
    const routes = app(leases, async (id) => {
      if (id === "faulty") throw new Error("a bug");
      begin();
      await kept;
      return `shipped ${id}`;
    });
    const post = async (id: string) => routes.request(`/orders/${id}/ship`, { method: "POST" });
    const first = post("42");
    await begun;
    const second = await post("42");
    assert.equal(second.status, 409);
    assert.match(second.headers.get("retry-after") ?? "", /^\d+$/);
    finish();
    assert.equal(await (await first).text(), "shipped 42");
    t.mock.method(console, "error", () => {});
    assert.equal((await post("faulty")).status, 500);
  });

  test("Next: a route has its turn, or says when to come again", async (t) => {
    await using server = await RedisServer.start();
    const { port } = server;
    await using endpoint = await RestEndpoint.start({ redis: { port }, supportsKeyLocking: true });
    const before = { ...process.env };
    t.after(() => {
      process.env = before;
    });
    process.env.UPSTASH_REDIS_REST_URL = endpoint.url;
    process.env.UPSTASH_REDIS_REST_TOKEN = endpoint.token;
    const { POST } = (await import(new URL("examples/recipes/route.ts", root).href)) as {
      POST(request: Request, context: { params: Promise<{ id: string }> }): Promise<Response>;
    };
    const post = (id: string) =>
      POST(new Request("https://shop.example/", { method: "POST" }), {
        params: Promise.resolve({ id }),
      });
    const answers = await Promise.all([post("42"), post("42")]);
    const fences = await Promise.all(
      answers.map(async (answer) => ((await answer.json()) as { fence: string }).fence),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.notEqual(fences[0], fences[1]);

    await server.kill();
    const refused = await post("42");
    assert.equal(refused.status, 503);
  });

  test("Queues: a message that comes again ships nothing", async () => {
    const shipped: string[] = [];
    const shipping = createServer((request, response) => {
      shipped.push(`${request.method} ${request.url} ${request.headers["x-fence"]}`);
      response.end(`tracking ${shipped.length}`);
    });
    await new Promise<void>((done) => shipping.listen(0, "127.0.0.1", done));
    const { port } = shipping.address() as AddressInfo;
    try {
      await using workers = await Workers.start({
        name: "consumer",
        entry: new URL("./recipes/queue-worker.ts", import.meta.url),
        durableObjects: { LEASES: "LeaseHost" },
        vars: { SHIPPING_URL: `http://127.0.0.1:${port}` },
        queues: { ORDERS: "orders" },
      });
      const url = await workers.url();
      const send = (id: string) => fetch(url, { method: "POST", body: JSON.stringify({ id }) });
      const outcomes = async (count: number): Promise<string[]> => {
        for (;;) {
          const told = (await (await fetch(url)).json()) as string[];
          if (told.length >= count) return told;
          await new Promise((wake) => setTimeout(wake, 50));
        }
      };
      await send("42");
      assert.deepEqual(await outcomes(1), ["ack 42"]);
      await send("42");
      await send("43");
      assert.deepEqual((await outcomes(3)).sort(), ["ack 42", "ack 42", "ack 43"]);
      assert.deepEqual(shipped.map((each) => each.replace(/ \d+$/, "")).sort(), [
        "PUT /42",
        "PUT /43",
      ]);
    } finally {
      shipping.close();
    }
  });

  test("steps: nobody gets in between two, and a crashed one is succeeded", async () => {
    const { leases, clock, hold } = testLeases();
    const fences: bigint[] = [];
    const work = async (lease: Lease) => {
      fences.push(lease.fence);
      return lease.key;
    };
    const first = await step(leases, "order:42", undefined, work);
    assert.equal(first.value, "order:42");
    await assert.rejects(hold("order:42"), { code: "HELD" });
    await clock.advance(30_000);
    const second = await step(leases, "order:42", first.handle, work);
    await assert.rejects(hold("order:42"), { code: "HELD" });

    // The try that crashed had taken the handle up; it is frozen, and thawed when all is over.
    const frozen = await leases.resume(second.handle);
    const again = step(leases, "order:42", second.handle, work);
    void frozen.detach();
    await clock.advance(61_000);
    await again;
    const [one = 0n, two = 0n, three = 0n] = fences;
    assert.ok(one < two && two < frozen.fence && frozen.fence < three);

    const fails = step(leases, "order:43", undefined, () => Promise.reject(new Error("a bug")));
    await assert.rejects(fails, { message: "a bug" });
    await (await hold("order:43")).release();
  });
});
