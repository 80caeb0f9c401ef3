/** The rows of the matrix, and the README's table of them: `node tests/packaging/table.ts` writes it. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { argv } from "node:process";
import { fileURLToPath } from "node:url";

/** A folder beside this file. */
export interface Project {
  readonly name: string;
  readonly title: string;
  /** What each row does, and the command for it. */
  readonly rows: readonly (readonly [row: string, command: string])[];
  /** What a row shows, where it is not a lease's life. */
  readonly shows?: string;
}

/** Between these the README has the table. */
export const MARKS = { begin: "<!-- matrix -->", end: "<!-- /matrix -->" };

export async function readProjects(): Promise<Project[]> {
  const here = new URL(".", import.meta.url);
  const folders = await readdir(here, { withFileTypes: true });
  const names = folders.filter((f) => f.isDirectory() && f.name !== "shared").map((f) => f.name);
  return Promise.all(
    names.sort().map(async (name) => {
      const text = await readFile(new URL(`${name}/package.json`, here), "utf8");
      const { description: title, scripts, config } = JSON.parse(text);
      return { name, title, rows: Object.entries<string>(scripts), ...config };
    }),
  );
}

export function table(projects: readonly Project[]): string {
  const rows = projects.map(({ name, title, rows }) => [
    title,
    rows.map(([row]) => row).join("; "),
    `[\`${name}\`](tests/packaging/${name})`,
  ]);
  const head = ["where", "what is run", "test"];
  const widths = head.map((_, at) =>
    Math.max(...[head, ...rows].map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[], fill = " ") =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0, fill)).join(" | ")} |`;
  return [line(head), line(["", "", ""], "-"), ...rows.map((row) => line(row))].join("\n");
}

if (fileURLToPath(import.meta.url) === argv[1]) {
  const path = new URL("../../README.md", import.meta.url);
  const [before, rest = ""] = (await readFile(path, "utf8")).split(MARKS.begin);
  const [, after] = rest.split(MARKS.end);
  const written = table(await readProjects());
  await writeFile(path, `${before}${MARKS.begin}\n\n${written}\n\n${MARKS.end}${after}`);
}
