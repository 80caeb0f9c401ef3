import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** An empty folder with the packed package installed, as a newcomer would have it. */
export class Project implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Packs, installs, and writes the files. */
  static async create(files: Record<string, string>): Promise<Project> {
    const project = new Project(await mkdtemp(join(tmpdir(), "leasehold-project-")));
    await project.#npm(join(ROOT, "pkg"), "pack", "--pack-destination", project.folder);
    const { version } = JSON.parse(await readFile(join(ROOT, "pkg/package.json"), "utf8")) as {
      version: string;
    };
    const manifest = { name: "newcomer", private: true, type: "module" };
    await project.write({ "package.json": JSON.stringify(manifest), ...files });
    await project.#npm(project.folder, "install", "--offline", `./leasehold-${version}.tgz`);
    return project;
  }

  async write(files: Record<string, string>): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text);
    }
  }

  /** A file of the project, parsed as JSON. */
  async json(name: string): Promise<unknown> {
    return JSON.parse(await readFile(join(this.folder, name), "utf8"));
  }

  /** Runs a file with this Node; what it prints. */
  node(file: string, env: Record<string, string> = {}): Promise<string> {
    return this.#run(this.folder, process.execPath, [file], env);
  }

  /** Runs a tool of this repository in the project; what it prints. */
  tool(path: string, ...args: string[]): Promise<string> {
    return this.#run(this.folder, process.execPath, [join(ROOT, "node_modules", path), ...args]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }

  #npm(folder: string, ...args: string[]): Promise<string> {
    return this.#run(folder, "npm", [...args, "--no-audit", "--no-fund", "--ignore-scripts"]);
  }

  async #run(
    cwd: string,
    file: string,
    args: string[],
    env: Record<string, string> = {},
  ): Promise<string> {
    const { stdout } = await run(file, args, {
      cwd,
      env: { ...process.env, CI: "1", WRANGLER_SEND_METRICS: "false", ...env },
      timeout: 120_000,
    });
    return stdout;
  }
}
