/** `docs/errors.md` is the table of all reasons: here the sources are held to it. */

import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

const ROOT = new URL("../../../", import.meta.url);

/** How a word stands in the sources that becomes an error's reason. */
const PLACES = [
  /(?:Refusal::new|Self::new|Self::crowded|Failure::new|passing|denied|unreachable|start_over|unanswered|lost)\(\s*(?:[\w:]+,\s*)*"([a-z]+(?:-[a-z]+)*)"/g,
  /\brefused\(\s*"[A-Z]+",\s*"([a-z-]+)"/g,
  /\breason: "([a-z]+(?:-[a-z]+)*)"/g,
];

/** The caller's own abort, which reaches nobody as an error; options' names. */
const OTHER_WORDS = new Set(["aborted", "after", "operation"]);

async function sources(): Promise<string> {
  const files = await Promise.all(
    ["src", "pkg/src"].map(async (folder) => {
      const names = await readdir(new URL(folder, ROOT), { recursive: true });
      return names.filter((name) => /\.(rs|ts)$/.test(name)).map((name) => `${folder}/${name}`);
    }),
  );
  const texts = files.flat().map((name) => readFile(new URL(name, ROOT), "utf8"));
  return (await Promise.all(texts)).join("\n");
}

test("every reason in the sources is in the table, and every one in the table in the sources", async () => {
  const table = await readFile(new URL("docs/errors.md", ROOT), "utf8");
  const listed = new Set([...table.matchAll(/^\| `([a-z-]+)` +\|/gm)].map(([, reason]) => reason));
  assert.ok(listed.size > 30);
  const text = await sources();
  const used = PLACES.flatMap((place) =>
    [...text.matchAll(place)].map(([, reason = ""]) => reason),
  );
  const missing = used.filter((reason) => !listed.has(reason) && !OTHER_WORDS.has(reason));
  assert.deepEqual(missing, [], "reasons that the table lacks");
  const unused = [...listed].filter((reason) => !text.includes(`"${reason}"`));
  assert.deepEqual(unused, [], "reasons that nothing has");
});
