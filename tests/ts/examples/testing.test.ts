import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const example = (name: string) => new URL(`../../../examples/testing/${name}`, import.meta.url);

test("the example of tests with node:test passes", async () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const file = fileURLToPath(example("ship.node.test.ts"));
  const { stdout } = await promisify(execFile)(process.execPath, ["--test", file], { env });
  assert.match(stdout, /pass 5\n/);
});

test("the documentation shows the examples as they are", async () => {
  const page = await readFile(new URL("../../../docs/testing.md", import.meta.url), "utf8");
  for (const name of ["ship.ts", "ship.node.test.ts", "ship.vitest.test.ts"]) {
    assert.ok(page.includes(await readFile(example(name), "utf8")), name);
  }
});
