/** What is published is what is tested: the packed package, installed where nothing else is. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { upstashFromEnv } from "leasehold/upstash";
import { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { RedisServer } from "../../rest-endpoint/server-process.ts";
import { Workers } from "../workerd/harness.ts";
import { Project } from "./project.ts";
import { readmeFile } from "./readme.ts";

interface Manifest {
  readonly exports: Record<string, { readonly default?: string }>;
  readonly dependencies?: unknown;
}

describe("the packed package in Node", () => {
  let project: Project;
  before(async () => {
    project = await Project.create({
      "try.mjs": await readmeFile("try.mjs"),
      "main.ts": await readmeFile("main.ts"),
      "route.ts": await readmeFile("route.ts"),
    });
  });
  after(() => project[Symbol.asyncDispose]());

  test("brings no dependency, the licences and the README", async () => {
    const manifest = (await project.json("node_modules/leasehold/package.json")) as Manifest;
    assert.equal(manifest.dependencies, undefined);
    const lock = (await project.json("package-lock.json")) as { packages: object };
    assert.deepEqual(Object.keys(lock.packages), ["", "node_modules/leasehold"]);
    await project.write({
      "files.js": `import { accessSync } from "node:fs";
        for (const name of ["README.md", "LICENSE-MIT", "LICENSE-APACHE"]) accessSync("node_modules/leasehold/" + name);`,
    });
    await project.node("files.js");
  });

  test("every declared entry can be imported, those for Workers there", async () => {
    const manifest = (await project.json("node_modules/leasehold/package.json")) as Manifest;
    const entries = Object.entries(manifest.exports)
      .filter(([, { default: file }]) => file?.startsWith("./dist/default/"))
      .map(([name]) => name.replace(".", "leasehold"));
    assert.ok(entries.length >= 9);
    const imports = entries.map((name) => `await import(${JSON.stringify(name)});`);
    await project.write({ "imports.js": imports.join("\n") });
    await project.node("imports.js");
  });

  test("the README's first program runs as it stands", async () => {
    assert.equal(await project.node("try.mjs"), "undefined\ntrue\n");
  });

  test("the README's Node program runs against a stand-alone host", async () => {
    const token = "a-token-for-the-newcomer";
    await using workers = await Workers.start({
      name: "leasehold",
      entry: new URL(import.meta.resolve("leasehold/worker")),
      durableObjects: { LEASES: "LeaseHost" },
      vars: { LEASEHOLD_TOKENS: token },
    });
    const url = String(await workers.url());
    const printed = await project.node("main.ts", { LEASEHOLD_URL: url, LEASEHOLD_TOKEN: token });
    assert.match(printed, /^held under fence \d+ for \d+ ms unless renewed\n$/);
  });

  test("the README's route runs against a Redis behind REST", async () => {
    await using server = await RedisServer.start();
    await using endpoint = await RestEndpoint.start({
      redis: { port: server.port },
      supportsKeyLocking: true,
    });
    const env = { UPSTASH_REDIS_REST_URL: endpoint.url, UPSTASH_REDIS_REST_TOKEN: endpoint.token };
    assert.ok(upstashFromEnv(env));
    await project.write({
      "call.ts": `import { POST } from "./route.ts"; console.log(await (await POST()).text());`,
    });
    assert.match(await project.node("call.ts", env), /^ran under fence \d{16}\n$/);
  });
});

test("the README's own Worker bundles with wrangler and grants leases in workerd", async () => {
  await using project = await Project.create({
    "wrangler.toml": await readmeFile("wrangler.toml"),
    "src/index.ts": await readmeFile("src/index.ts"),
  });
  await project.tool("wrangler/bin/wrangler.js", "deploy", "--dry-run", "--outdir", "out");
  await using workers = await Workers.start({
    name: "orders",
    entry: pathToFileURL(join(project.folder, "out/index.js")),
    durableObjects: { LEASES: "LeaseHost" },
  });
  const url = await workers.url();
  const answers = await Promise.all([fetch(url), fetch(url), fetch(url)]);
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  const fences = texts.map((text) => /^done, under fence (\d+)\n$/.exec(text)?.[1]);
  assert.ok(!fences.includes(undefined), texts.join(""));
  assert.equal(new Set(fences).size, 3);
});
