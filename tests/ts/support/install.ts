import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/** Installs a folder's packages as its lock file says, unless that has been done. */
export async function install(folder: string): Promise<void> {
  const lock = await readFile(join(folder, "package-lock.json"), "utf8");
  const stamp = join(folder, "node_modules/.leasehold-lock");
  if ((await readFile(stamp, "utf8").catch(() => "")) === lock) return;
  const args = ["ci", "--ignore-scripts", "--prefer-offline"];
  await promisify(execFile)("npm", args, { cwd: folder, timeout: 280_000 });
  await writeFile(stamp, lock);
}
