/** Real database servers with nothing in them, each in a folder of its own. */

import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { guard } from "../../rest-endpoint/watchdog.ts";

const run = promisify(execFile);

/** A server that listens on a socket in its folder, and on no port. */
export interface Database extends AsyncDisposable {
  readonly folder: string;
}

/** Starts PostgreSQL; its superuser is `postgres`. */
export function postgres(): Promise<Database> {
  const initdb = process.env.INITDB ?? "initdb";
  const server = initdb.replace(/initdb$/, "postgres");
  return database(
    "postgres",
    (data) => [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
    (data, folder) => [server, "-D", data, "-k", folder, "-c", "listen_addresses=", "-F"],
    "database system is ready to accept connections",
  );
}

/** Starts MariaDB; its superuser is `root`, without a password. */
export function mariadb(): Promise<Database> {
  const server = process.env.MARIADBD ?? "mariadbd";
  return database(
    "mariadb",
    (data) => [
      "mariadb-install-db",
      "--no-defaults",
      "--auth-root-authentication-method=normal",
      "--skip-test-db",
      `--datadir=${data}`,
    ],
    (data, folder) => [
      server,
      "--no-defaults",
      "--skip-networking",
      `--datadir=${data}`,
      `--socket=${join(folder, "socket")}`,
    ],
    "ready for connections",
  );
}

async function database(
  name: string,
  create: (data: string) => string[],
  serve: (data: string, folder: string) => string[],
  ready: string,
): Promise<Database> {
  const folder = await mkdtemp(join(tmpdir(), `leasehold-${name}-`));
  const data = join(folder, "data");
  const user = await unprivileged(folder);
  const [program = "", ...args] = create(data);
  await run(program, args, { ...user, cwd: folder });
  const [server = "", ...options] = serve(data, folder);
  const child = spawn(server, options, { ...user, cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGQUIT");
      await exited;
    }
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await said(child, ready);
    await guard(child, folder);
  } catch (error) {
    await close();
    throw error;
  }
  return { folder, [Symbol.asyncDispose]: close };
}

/** Both servers refuse to run as root: then somebody else has to own the folder. */
async function unprivileged(folder: string): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) {
    return {};
  }
  const id = (option: string) =>
    Number(execFileSync("id", [option, "nobody"], { encoding: "utf8" }));
  const user = { uid: id("-u"), gid: id("-g") };
  await chown(folder, user.uid, user.gid);
  return user;
}

function said(child: ChildProcess, what: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = "";
    const listen = (text: string) => {
      log += text;
      if (log.includes(what)) resolve();
    };
    child.stdout?.setEncoding("utf8").on("data", listen);
    child.stderr?.setEncoding("utf8").on("data", listen);
    child.once("error", reject);
    child.once("exit", () => reject(new Error(`the server ended:\n${log}`)));
  });
}
