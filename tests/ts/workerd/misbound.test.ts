/** Bindings and settings of a Worker that can't work, as the runtime has them, told at once. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type WorkerSpec, Workers } from "./harness.ts";

interface Told {
  readonly granted?: boolean;
  readonly code?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly ms?: number;
}

function subject(spec: Partial<WorkerSpec>): (backend: string) => Promise<Told> {
  let workers: Workers;
  before(async () => {
    workers = await Workers.start(
      {
        name: "misbound",
        entry: new URL("./misbound-worker.ts", import.meta.url),
        durableObjects: { LEASES: "LeaseHost", PLAIN: "Plain", OTHER: "Other" },
        services: { SERVICE: "service" },
        ...spec,
      },
      { name: "service", entry: new URL("./user-worker.ts", import.meta.url) },
    );
  });
  after(() => workers.stop());
  return async (backend) => {
    const url = new URL("/", await workers.url());
    url.searchParams.set("backend", backend);
    return (await (await fetch(url)).json()) as Told;
  };
}

async function assertTold(
  told: Promise<Told>,
  reason: string,
  message: RegExp,
  code = "INVALID",
): Promise<void> {
  const { ms = 0, ...error } = await told;
  assert.deepEqual([error.code, error.reason], [code, reason], error.message);
  assert.match(error.message ?? "", message);
  assert.ok(ms < 1_500, `at once, not after ${ms} ms`);
}

describe("misbound", () => {
  const use = subject({});

  test("the right ones work", async () => {
    assert.deepEqual(await use("right"), { granted: true });
    assert.deepEqual(await use("by fetch"), { granted: true });
  });

  for (const [backend, reason, message] of [
    ["the namespace", "backend", /pass durableObject\(namespace\)/],
    ["the env", "backend", /pass durableObject\(env\.LEASES\)/],
    ["a stub", "backend", /not a stub or a service/],
    ["a service", "backend", /not a stub or a service/],
    ["the env for a namespace", "namespace", /pass env\.LEASES/],
    ["a stub for a namespace", "namespace", /not an object's stub/],
    ["a service for a namespace", "namespace", /must be a Durable Object namespace/],
    ["no RPC", "unsuited-object", /leads to another class than LeaseHost/],
    ["another class", "unsuited-object", /leads to another class than LeaseHost/],
    ["another class, by fetch", "unsuited-object", /leads to another class than LeaseHost/],
    ["a service's fetch", "fetch", /Illegal invocation/],
  ] as const) {
    test(`${backend} is told at once`, () => assertTold(use(backend), reason, message));
  }

  test("a page instead of an answer is told at once", () =>
    assertTold(use("no RPC, by fetch"), "foreign-answer", /text\/html/, "UNAVAILABLE"));
});

describe("misbound, before there was RPC", () => {
  const use = subject({ compatibilityDate: "2024-01-01" });

  test("RPC is told at once to be missing, and fetch works", async () => {
    await assertTold(use("right"), "unsuited-object", /2024-04-03.*via: "fetch"/);
    assert.deepEqual(await use("by fetch"), { granted: true });
  });
});

describe("misbound, without SQLite", () => {
  const use = subject({ useSQLite: false });

  for (const backend of ["right", "by fetch"]) {
    test(`${backend}, a class without SQLite is told at once`, () =>
      assertTold(use(backend), "unsuited-object", /new_sqlite_classes/));
  }
});
