import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

test("the demo: take-over after a cut-off, and the stale write refused", async () => {
  const main = fileURLToPath(new URL("../../../examples/demo/main.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [main], { timeout: 60_000 });
  const [, annas] = /anna's late write, under fence (\d+): 409/.exec(stdout) ?? [];
  const [, bens] = /ledger: fence (\d+), ben shipped/.exec(stdout) ?? [];
  assert.ok(BigInt(annas ?? 0) > 0n);
  assert.ok(BigInt(bens ?? 0) > BigInt(annas ?? 0));
});
