import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { POST } from "../../../examples/vercel/api/ship.ts";
import { suite } from "../../rest-endpoint/harness.ts";
import { client, LONG, stored } from "./subject.ts";

const redis = suite();

const run = promisify(execFile);

describe("Redis examples", () => {
  for (const name of ["ioredis", "node-redis"]) {
    test(`${name}: three workers, one at a time, and the process ends`, async () => {
      const main = fileURLToPath(new URL(`../../../examples/${name}/main.ts`, import.meta.url));
      const env = { ...process.env, REDIS_URL: `redis://127.0.0.1:${redis.server.port}` };
      const { stdout } = await run(process.execPath, [main], { env, timeout: 20_000 });
      const lines = stdout.trim().split("\n");
      assert.equal(lines.length, 6);
      const fences: bigint[] = [];
      for (let index = 0; index < 6; index += 2) {
        const [, worker, fence = ""] =
          /^(\w+) writes with fence (\d+)$/.exec(lines[index] ?? "") ?? [];
        assert.equal(lines[index + 1], `${worker} is done`);
        fences.push(BigInt(fence));
      }
      const [first = 0n, second = 0n, third = 0n] = fences;
      assert.ok(first < second && second < third);
      assert.ok((await stored(redis.direct)).every((row) => /:(lease|fence)$/.test(row)));
    });
  }

  test("vercel: one invocation at a time writes, fences rise, a busy key is 409", async (t) => {
    const endpoint = await redis.endpoint();
    const writes: bigint[] = [];
    let writing = 0;
    const ledger = createServer((request, response) => {
      writing += 1;
      assert.equal(writing, 1);
      writes.push(BigInt(String(request.headers["x-fence"])));
      setTimeout(() => {
        writing -= 1;
        response.end();
      }, 20);
    }).listen(0, "127.0.0.1");
    await once(ledger, "listening");
    const { port } = ledger.address() as { port: number };
    const environment = {
      UPSTASH_REDIS_REST_URL: endpoint.url,
      UPSTASH_REDIS_REST_TOKEN: endpoint.token,
      LEDGER_URL: `http://127.0.0.1:${port}`,
    };
    const before = { ...process.env };
    Object.assign(process.env, environment);
    t.after(() => {
      process.env = before;
      ledger.closeAllConnections();
      ledger.close();
    });
    const ship = () =>
      POST(new Request("https://shop.example/api/ship?order=42", { method: "POST" }));

    const answers = await Promise.all([ship(), ship(), ship()]);
    const fences = await Promise.all(
      answers.map(async (answer) => BigInt(((await answer.json()) as { fence: string }).fence)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    assert.deepEqual([...fences].sort(), writes);
    assert.equal(new Set(fences).size, 3);

    const lease = await client(endpoint).acquire("order:42", { ttlMs: LONG });
    const busy = await ship();
    assert.deepEqual(
      [busy.status, await busy.json()],
      [409, { code: "TIMEOUT", reason: "held-by-another" }],
    );
    await lease.release();
    assert.equal(writes.length, 3);

    process.env.UPSTASH_REDIS_REST_TOKEN = "another";
    assert.equal((await ship()).status, 503);
    assert.equal((await POST(new Request("https://shop.example/api/ship"))).status, 400);
  });
});
