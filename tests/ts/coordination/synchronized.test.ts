import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { LeaseError, type LeaseErrorCode } from "leasehold";
import { type LeaseName, synchronized, toResponse } from "leasehold/synchronized";
import { bench, fenceAt, follow, leaseError, within } from "../support/bench.ts";

const pause = () => Promise.withResolvers<void>();

describe("synchronized", () => {
  test("one at a time for each input; who comes second is refused at once", async () => {
    const { clock, client, rival } = bench();
    const { promise, resolve } = pause();
    const ship = async (order: { id: number }, lease: { key: string; fence: bigint }) => {
      await promise;
      return `${order.id} ${lease.key} ${lease.fence}`;
    };
    const here = synchronized(client, "order:{id}", ship);
    const there = synchronized(rival(), "order:{id}", ship);
    const first = here({ id: 42 });
    const standing = follow(first);
    await clock.advance(50);
    for (const again of [here, there]) {
      const refused = within(clock, 30, again({ id: 42 }));
      await assert.rejects(refused, leaseError("HELD", { key: "order:42" }));
    }
    const other = there({ id: 43 });
    await clock.advance(30);
    assert.equal(standing().status, "pending");
    resolve();
    assert.equal(await within(clock, 30, first), `42 order:42 ${fenceAt(10)}`);
    assert.match(await within(clock, 30, other), /^43 order:43 /);
    const [, , next] = (await within(clock, 60, here({ id: 42 }))).split(" ");
    assert.ok(BigInt(next ?? 0) > fenceAt(10));
  });

  test("options are those of a lease: with a wait the second has its turn", async () => {
    const { clock, client } = bench();
    let running = 0;
    const work = synchronized(
      client,
      "report",
      async () => {
        running += 1;
        assert.equal(running, 1);
        await new Promise((wake) => clock.setTimeout(() => wake(undefined), 100));
        running -= 1;
      },
      { waitMs: 10_000 },
    );
    await within(clock, 5_000, Promise.all([work(), work(), work()]));
  });

  test("a lost lease and what the work throws reject as in run", async () => {
    const { clock, client, rival } = bench();
    const bug = new TypeError("a bug");
    const failing = synchronized(client, "{}", () => Promise.reject(bug));
    await assert.rejects(within(clock, 60, failing("a")), (error) => error === bug);
    const slow = synchronized(
      client,
      "{}",
      (_: string, lease) => new Promise((stop) => lease.signal.addEventListener("abort", stop)),
      { ttlMs: 1_000 },
    );
    const ran = slow("b");
    follow(ran);
    await clock.advance(100);
    await within(clock, 20, rival().revoke("b"));
    await assert.rejects(within(clock, 1_000, ran), leaseError("LOST", { reason: "revoked" }));
  });

  test("different inputs have different names, equal ones the same", async () => {
    const { clock, client } = bench();
    const nameFor = async (name: LeaseName, input: unknown): Promise<string> => {
      const named = synchronized(client, name, (_, lease) => lease.key);
      return within(clock, 60, (named as (input: unknown) => Promise<string>)(input));
    };
    const twoParts = "{a}:{b}";
    assert.equal(await nameFor(twoParts, { a: "x", b: 7 }), "x:7");
    assert.equal(await nameFor(twoParts, { a: "x", b: 7n }), "x:7");
    assert.notEqual(
      await nameFor(twoParts, { a: "1:2", b: "3" }),
      await nameFor(twoParts, { a: "1", b: "2:3" }),
    );
    assert.equal(await nameFor("order:{}", "a b/ü"), "order:a%20b%2F%C3%BC");
    assert.equal(await nameFor("order:{id}:{id}", { id: "$&" }), "order:%24%26:%24%26");
    assert.equal(await nameFor((order: { at: string }) => `any ${order.at}`, { at: ":" }), "any :");
  });

  test("a template that is none is told at once, an input that doesn't fit before anything is sent", async () => {
    const { clock, host, client } = bench();
    for (const name of ["", "order:{", "order:}", "{a b}", "{1}", "{{id}}", "{a.b}", 7]) {
      assert.throws(
        () => synchronized(client, name as string, () => {}),
        leaseError("INVALID", { reason: "name" }),
        String(name),
      );
    }
    const named = synchronized(client, "order:{id}", () => {}) as (input: unknown) => Promise<void>;
    for (const id of [undefined, null, "", 1.5, Number.NaN, {}, ["a"], true, "\ud800"]) {
      await assert.rejects(named({ id }), leaseError("INVALID", { reason: "input.id" }));
    }
    await assert.rejects(named(undefined), leaseError("INVALID", { reason: "input.id" }));
    const plain = synchronized(client, "order:{}", () => {}) as (input: unknown) => Promise<void>;
    await assert.rejects(plain({}), leaseError("INVALID", { reason: "input" }));
    await clock.settle();
    assert.equal(host.requests.length, 0);
  });

  test("as a decorator it guards a method, with the client of the instance", async () => {
    const { clock, client, rival } = bench();
    const { promise, resolve } = pause();
    const Shop = await compiledShop();
    const [one, two] = [new Shop(client), new Shop(rival())];
    const first = one.ship({ id: 42, wait: promise });
    follow(first);
    await clock.advance(50);
    const second = two.ship({ id: 42, wait: promise });
    await assert.rejects(within(clock, 30, second), leaseError("HELD", { key: "order:42" }));
    resolve();
    assert.equal(await within(clock, 30, first), "shipped 42");
    assert.deepEqual([one.shipped, two.shipped], [["42 under order:42"], []]);
  });

  test("what an input must have is known to the compiler", () => {
    const { client } = bench();
    const named = synchronized(
      client,
      "{tenant}:{id}",
      (input: { tenant: string; id: number }) => input.id,
    );
    const plain = synchronized(client, "order:{}", (id: string) => id);
    const fixed = synchronized(client, "report", () => 1);
    const checks = () => {
      const id: Promise<number> = named({ tenant: "a", id: 1 });
      const text: Promise<string> = plain("a");
      const one: Promise<number> = fixed();
      // @ts-expect-error: the template names a property that the input lacks
      synchronized(client, "order:{id}", (input: { name: string }) => input.name);
      // @ts-expect-error: an object is no part of a name
      synchronized(client, "order:{id}", (input: { id: object }) => input.id);
      // @ts-expect-error: an input is needed
      named();
      return [id, text, one];
    };
    assert.equal(typeof checks, "function");
  });
});

describe("toResponse", () => {
  const error = (code: string, retryAfterMs?: number) =>
    new LeaseError(code as LeaseErrorCode, "held by secret-holder", {
      key: "secret-key",
      holder: "secret-holder",
      reason: "some-reason",
      retryAfterMs,
    });

  test("busy is 409, unreachable 503, with Retry-After in whole seconds", async () => {
    for (const [code, retryAfterMs, status, retryAfter] of [
      ["HELD", 2_001, 409, "3"],
      ["TIMEOUT", undefined, 409, "1"],
      ["DONE", 60_000, 409, "60"],
      ["UNAVAILABLE", 0, 503, "1"],
    ] as const) {
      const response = toResponse(error(code, retryAfterMs));
      assert.equal(response.status, status);
      assert.equal(response.headers.get("retry-after"), retryAfter);
      assert.equal(response.headers.get("cache-control"), "no-store");
      const text = await response.text();
      assert.deepEqual(JSON.parse(text), { code, reason: "some-reason" });
      assert.ok(!text.includes("secret"));
    }
  });

  test("anything else is thrown on", () => {
    for (const other of [
      error("LOST"),
      error("DENIED"),
      error("INVALID"),
      new Error("bug"),
      null,
    ]) {
      assert.throws(
        () => toResponse(other),
        (thrown) => thrown === other,
      );
    }
  });
});

async function compiledShop() {
  const entry = fileURLToPath(new URL("./fixtures/shop.ts", import.meta.url));
  // Inside the repository, so that it finds the package.
  const folder = new URL("../../../target/decorators/", import.meta.url);
  await mkdir(folder, { recursive: true });
  const file = new URL(`shop-${process.pid}.mjs`, folder);
  const { outputFiles } = await esbuild.build({
    entryPoints: [entry],
    write: false,
    format: "esm",
    target: "es2022",
  });
  await writeFile(file, outputFiles[0]?.text ?? "");
  return ((await import(file.href)) as typeof import("./fixtures/shop.ts")).Shop;
}
