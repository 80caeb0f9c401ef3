import "../support/started-wasm.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import manifest from "../../../pkg/package.json" with { type: "json" };
import { instances } from "../support/started-wasm.ts";

const entries = Object.entries(manifest.exports).flatMap(([subpath, conditions]) =>
  typeof conditions === "object" && conditions.default.startsWith("./dist/default/")
    ? [subpath.replace(".", "leasehold")]
    : [],
);

test("an import makes no instance of any wasm, the first client makes that of the client", async () => {
  assert.ok(entries.includes("leasehold") && entries.includes("leasehold/upstash"));
  for (const entry of entries) await import(entry);
  assert.equal(instances(), 0);
  const { LeaseClient } = await import("leasehold");
  const { memory } = await import("leasehold/memory");
  const host = memory();
  const before = instances();
  new LeaseClient(host);
  assert.equal(instances(), before + 1);
  new LeaseClient(host);
  assert.equal(instances(), before + 1);
});
