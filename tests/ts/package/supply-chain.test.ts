/** What stands between the sources and what a user installs. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

describe("npm pack on a fresh clone", () => {
  /** Packs the manifest alone, as after a clone, with something else in the place of cargo. */
  async function pack(t: TestContext, cargo: string): Promise<{ folder: string; log: string }> {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-pack-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    await copyFile(join(ROOT, "pkg/package.json"), join(folder, "package.json"));
    await writeFile(join(folder, "cargo"), `#!/bin/sh\n${cargo}\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${folder}${delimiter}${process.env.PATH}` };
    const run = promisify(execFile)("npm", ["pack", "--offline"], { cwd: folder, env });
    const log = await run.then(
      ({ stdout, stderr }) => stdout + stderr,
      (error: { stderr: string }) => `failed: ${error.stderr}`,
    );
    return { folder, log };
  }

  test("fails when the build fails, and leaves no empty package", async (t) => {
    const { folder, log } = await pack(t, "exit 7");
    assert.match(log, /^failed: .*\b7\b/s);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.endsWith(".tgz")),
      [],
    );
  });

  test("packs what the build has made", async (t) => {
    const build = '[ "$*" = "xtask build" ] && mkdir -p dist && echo 1 > dist/made-by-the-build.js';
    const { folder, log } = await pack(t, build);
    assert.match(log, /dist\/made-by-the-build\.js/);
    assert.ok((await readdir(folder)).some((name) => name.endsWith(".tgz")));
  });
});

test("the public workflows take every action by digest, keep no rights and no secrets", async () => {
  const folder = join(ROOT, ".github/workflows");
  const names = await readdir(folder);
  assert.ok(names.includes("ci.yml") && names.includes("release.yml"));
  for (const name of names) {
    const text = await readFile(join(folder, name), "utf8");
    for (const [, action = ""] of text.matchAll(/uses: (\S+)/g)) {
      assert.match(action, /^(\.\/|[\w-]+\/[\w-]+@[0-9a-f]{40}$)/, `${name}: ${action}`);
    }
    assert.match(text, /^permissions:\n {2}contents: read\n/m, name);
    assert.doesNotMatch(text, /secrets\./, name);
  }
});

test("no lock file says where on somebody's network a package came from", async () => {
  const { stdout } = await promisify(execFile)("git", ["ls-files"], { cwd: ROOT });
  const locks = stdout.split("\n").filter((file) => file.endsWith("package-lock.json"));
  assert.ok(locks.length >= 2);
  for (const lock of locks) {
    assert.doesNotMatch(await readFile(join(ROOT, lock), "utf8"), /"resolved": "http/, lock);
  }
});
