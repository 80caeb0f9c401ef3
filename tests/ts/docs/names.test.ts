/** Whatever the README and the pages name is there: files, entries, exports, members, options. */

import assert from "node:assert/strict";
import { access, readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { Lease, LeaseClient, type LeaseSet } from "leasehold";
import { memory } from "leasehold/memory";

const ROOT = new URL("../../../", import.meta.url);

interface Page {
  readonly name: string;
  readonly text: string;
}

async function pages(): Promise<Page[]> {
  const docs = (await readdir(new URL("docs", ROOT))).map((name) => `docs/${name}`);
  const names = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", ...docs];
  return Promise.all(
    names.map(async (name) => ({ name, text: await readFile(new URL(name, ROOT), "utf8") })),
  );
}

const all = await pages();
const code = (text: string) => [...text.matchAll(/```ts\n(.*?)```/gs)].map(([, block]) => block);

/** How a heading is linked to. */
const anchor = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

test("every link inside the repository leads to something", async () => {
  const headings = new Map(
    all.map(({ name, text }) => [
      new URL(name, ROOT).href,
      [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchor(heading)),
    ]),
  );
  let links = 0;
  for (const { name, text } of all) {
    for (const [, target = ""] of text.matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      links += 1;
      const url = new URL(target, new URL(name, ROOT));
      const { hash } = url;
      url.hash = "";
      await assert.doesNotReject(access(url), `${name}: ${target}`);
      if (hash !== "") assert.ok(headings.get(url.href)?.includes(hash.slice(1)), target);
    }
  }
  assert.ok(links > 80, `${links} links`);
});

test("every entry that is named is one, and has what is imported from it", async () => {
  const { exports } = JSON.parse(await readFile(new URL("pkg/package.json", ROOT), "utf8"));
  let imports = 0;
  for (const { name, text } of all) {
    for (const [entry] of text.matchAll(/\bleasehold\/[a-z-]+(?=[`"])/g)) {
      assert.ok(exports[entry.replace("leasehold", ".")], `${name}: ${entry}`);
    }
    for (const block of code(text)) {
      for (const [, type, names = "", entry = ""] of (block ?? "").matchAll(
        /(?:im|ex)port (type )?\{ ([^}]*) \} from "(leasehold[^"]*)"/g,
      )) {
        if (/\/(host|worker)$/.test(entry) || type !== undefined) continue; // For Workers alone.
        const there = await import(entry);
        for (const each of names.split(",").map((one) => one.trim())) {
          if (each.startsWith("type ") || each === "") continue;
          imports += 1;
          assert.ok(each in there, `${name}: ${each} of ${entry}`);
        }
      }
    }
  }
  assert.ok(imports > 20, `${imports} imports`);
});

test("what is called on a client, a lease or a set is there", async () => {
  const client = new LeaseClient(memory());
  const set: LeaseSet = await client.acquireAll(["a", "b"]);
  const [lease] = set.leases;
  const members: Readonly<Record<string, object | undefined>> = {
    leases: client,
    lease,
    set,
    named: client.named({ secret: "a secret of sixteen bytes" }),
  };
  let calls = 0;
  for (const { name, text } of all) {
    // Elsewhere `leases` is a file's name, or a set's list.
    for (const [, of = "", member = ""] of text.matchAll(
      /(?<![\w./@"-])(leases|lease|set|named)\.([a-zA-Z]+)\b/g,
    )) {
      if (["ts", "js"].includes(member)) continue;
      calls += 1;
      assert.ok(member in (members[of] ?? {}), `${name}: ${of}.${member}`);
    }
  }
  assert.ok(calls > 80, `${calls} calls`);
  assert.ok(lease instanceof Lease);
  await client.close();
});

test("every file of an example, a test or a tool that is named is there", async () => {
  for (const { name, text } of all) {
    for (const [, path = ""] of text.matchAll(
      /`((?:examples|tests|docs|pkg|src|bench|xtask)\/[\w./-]+)`/g,
    )) {
      await assert.doesNotReject(access(new URL(path, ROOT)), `${name}: ${path}`);
    }
  }
});

test("whatever the README says the package works with names its test", async () => {
  const readme = all.find(({ name }) => name === "README.md")?.text ?? "";
  const [, section = ""] = /^## Works with\n(.*?)^### Not run by us$/ms.exec(readme) ?? [];
  const rows = section
    .split("\n")
    .filter((line) => /^\| +\w/.test(line))
    .slice(1);
  const items = section.split(/^- /m).slice(1);
  for (const claim of [...rows, ...items]) assert.match(claim, /\]\(tests\//, claim);
  assert.ok(rows.length > 10 && items.length > 3);
});
