/**
 * The packed package wherever it is used: each folder is a project with a lock file of its own, and
 * each of its scripts a row, which has to end in what a lease's life shows.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { MARKS, readProjects, table } from "./table.ts";

const run = promisify(execFile);
const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const STORY = "acquired, refused, lost, released";
const LONGEST_MS = 240_000;

const scratch = await mkdtemp(join(tmpdir(), "leasehold-packaging-"));
const tarball = join(scratch, "leasehold.tgz");

before(async () => {
  await run("npm", ["pack", "--ignore-scripts", "--pack-destination", scratch], {
    cwd: join(ROOT, "pkg"),
  });
  const { stdout } = await run("sh", ["-c", "mv leasehold-*.tgz leasehold.tgz"], { cwd: scratch });
  assert.equal(stdout, "");
});
after(() => rm(scratch, { recursive: true, force: true }));

/** Everything that the lock names, and then the package, which brings no dependency. */
async function install(name: string): Promise<string> {
  const folder = join(scratch, name);
  await cp(join(HERE, "shared"), folder, { recursive: true });
  await cp(join(HERE, name), folder, { recursive: true });
  // Not `ci`, which wants optional packages for other systems to exist in whatever registry there is.
  const quick = ["--no-save", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...quick], { cwd: folder, timeout: LONGEST_MS });
  const place = join(folder, "node_modules/leasehold");
  await mkdir(place, { recursive: true });
  await run("tar", ["-xzf", tarball, "-C", place, "--strip-components=1"]);
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle));
  const { port } = server.address() as { port: number };
  await new Promise((settle) => server.close(settle));
  return port;
}

const TOOLS = ["page", "serve"]
  .map((name) => `${name}() { node "$PACKAGING/tools.mjs" ${name} "$@"; }`)
  .join("\n");

async function runRow(folder: string, command: string): Promise<string> {
  const path = [join(folder, "node_modules/.bin"), dirname(process.execPath), process.env.PATH];
  const { stdout } = await run("sh", ["-e", "-c", `${TOOLS}\n${command}`], {
    cwd: folder,
    timeout: LONGEST_MS,
    maxBuffer: 2 ** 26,
    env: {
      ...process.env,
      PATH: path.join(delimiter),
      PORT: String(await freePort()),
      PACKAGING: HERE,
      TARBALL: tarball,
      NODE_ENV: "production",
      NEXT_TELEMETRY_DISABLED: "1",
      WRANGLER_SEND_METRICS: "false",
      NO_COLOR: "1",
      CI: "1",
    },
  });
  return stdout;
}

const projects = await readProjects();

describe("the packed package", { concurrency: 2, timeout: 900_000 }, () => {
  for (const { name, title, rows, shows = STORY } of projects) {
    describe(title, { concurrency: 1 }, () => {
      let folder: string;
      before(async () => {
        folder = await install(name);
      });
      for (const [row, command] of rows) {
        test(`${title}: ${row}`, { timeout: LONGEST_MS }, async () => {
          const said = await runRow(folder, command);
          assert.ok(said.includes(shows), said);
        });
      }
    });
  }
});

test("the README lists these rows, and no others", async () => {
  const readme = await readFile(join(ROOT, "README.md"), "utf8");
  const [, listed] = readme.split(MARKS.begin);
  assert.equal(listed?.split(MARKS.end)[0]?.trim(), table(projects));
});
