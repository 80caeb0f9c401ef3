import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

let scratch: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "leasehold-deploy-"));
});
after(() => rm(scratch, { recursive: true, force: true }));

/** Does all that `wrangler deploy` does before it uploads; the files that it would upload. */
async function dryRun(project: string): Promise<{ told: string; files: string[] }> {
  const out = await mkdtemp(join(scratch, "out-"));
  const wrangler = join(ROOT, "node_modules/wrangler/bin/wrangler.js");
  const args = [wrangler, "deploy", "--dry-run", "--outdir", out];
  // Without its banner it does not look for a newer version of itself.
  const quiet = { WRANGLER_HIDE_BANNER: "true", WRANGLER_SEND_METRICS: "false" };
  const env = { ...process.env, ...quiet, CI: "1", NO_COLOR: "1" };
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: project, env });
  return { told: stdout, files: await readdir(out) };
}

/** A project in a folder of its own that has this package installed. */
async function project(name: string, files: Record<string, string>): Promise<string> {
  const folder = join(scratch, name);
  await mkdir(join(folder, "node_modules"), { recursive: true });
  await symlink(join(ROOT, "pkg"), join(folder, "node_modules/leasehold"));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(join(folder, file, ".."), { recursive: true });
    await writeFile(join(folder, file), text);
  }
  return folder;
}

test("this repository's wrangler.toml deploys the stand-alone host", async () => {
  const { told, files } = await dryRun(ROOT);
  assert.match(told, /env\.LEASES \(LeaseHost\)/);
  assert.equal(files.filter((file) => file.endsWith("-host.wasm")).length, 1, files.join());
});

test("a Worker of one's own deploys with the object's class in it", async () => {
  const folder = await project("own", {
    "wrangler.toml": `
      name = "own"
      main = "src/index.ts"
      compatibility_date = "2026-07-01"
      [[durable_objects.bindings]]
      name = "LEASES"
      class_name = "LeaseHost"
      [[migrations]]
      tag = "v1"
      new_sqlite_classes = ["LeaseHost"]`,
    "src/index.ts": `
      import { LeaseClient } from "leasehold";
      import { durableObject } from "leasehold/durable-object";
      export { LeaseHost } from "leasehold/host";
      export default {
        async fetch(request, env, ctx) {
          const leases = new LeaseClient(durableObject(env.LEASES));
          return leases.run("report:daily", { waitMs: 0 }, () => new Response("done"));
        },
      };`,
  });
  const { told, files } = await dryRun(folder);
  assert.match(told, /env\.LEASES \(LeaseHost\)/);
  const wasm = files.filter((file) => file.endsWith(".wasm"));
  assert.equal(wasm.length, 2, "the client's and the host's");
});

test("npm alone deploys the stand-alone host, by its file or by two lines of one's own", async () => {
  const document = await readFile(join(ROOT, "docs/host.md"), "utf8");
  const [, config = ""] = /```toml\n(.*?)```/s.exec(document) ?? [];
  assert.match(config, /^main = "node_modules/m);
  const [, lines = ""] = /`(export \{ default, LeaseHost \} .*?)`/.exec(document) ?? [];
  const own = config.replace(/^main = .*$/m, 'main = "index.js"');
  for (const [name, files] of [
    ["by file", { "wrangler.toml": config }],
    ["by lines", { "wrangler.toml": own, "index.js": lines }],
  ] as const) {
    const { told } = await dryRun(await project(name, files));
    assert.match(told, /env\.LEASES \(LeaseHost\)/, name);
  }
});

test("the example deploys", async () => {
  const folder = await project("example", {});
  await cp(join(ROOT, "examples/workers"), folder, { recursive: true });
  const { told } = await dryRun(folder);
  assert.match(told, /env\.LEASES \(LeaseHost\)/);
});
