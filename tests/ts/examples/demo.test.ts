import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("the demo: take-over after a cut-off, and the stale write refused", async () => {
  const main = fileURLToPath(new URL("../../../examples/demo/main.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [main], { timeout: 60_000 });
  assert.match(stdout, /anna's late write, under fence 1: 409/);
  assert.match(stdout, /ledger: fence 2, ben shipped/);
});
