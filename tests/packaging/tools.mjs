// What the rows' commands call. `page <file or URL>` prints the text of a page in Chromium;
// `serve <page | text> <URL> <command>...` does so while the command serves it.

import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

const READY_MS = 60_000;

const [tool, ...args] = process.argv.slice(2);
await { page: async (where) => console.log(await page(where)), serve }[tool](...args);

async function page(where) {
  const profile = await mkdtemp(join(tmpdir(), "leasehold-chromium-"));
  const url = existsSync(where) ? pathToFileURL(resolve(where)).href : where;
  try {
    const { stdout } = await promisify(execFile)(process.env.CHROMIUM, [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--ignore-certificate-errors",
      `--user-data-dir=${profile}`,
      // As much as the page's timers may take: they run ahead, and the network is waited for.
      "--virtual-time-budget=20000",
      "--dump-dom",
      url,
    ]);
    return stdout.replace(/<(script|style).*?<\/\1>|<[^>]*>/gs, "").trim();
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}

async function serve(kind, url, ...command) {
  const { hostname, port } = new URL(url);
  // A group of its own, since some servers leave children behind.
  const server = spawn(command[0], command.slice(1), { detached: true });
  let said = "";
  for (const output of [server.stdout, server.stderr]) {
    output.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
  }
  try {
    await listening(hostname, port, server);
    console.log(kind === "page" ? await page(url) : await (await fetch(url)).text());
  } catch (error) {
    throw new Error(`${command.join(" ")} said:\n${said}`, { cause: error });
  } finally {
    process.kill(-server.pid, "SIGKILL");
  }
}

async function listening(host, port, server) {
  for (const until = Date.now() + READY_MS; Date.now() < until; await pause(100)) {
    if (server.exitCode !== null) throw new Error(`the server ended with ${server.exitCode}`);
    const isOpen = await new Promise((settle) => {
      const socket = connect({ host, port });
      socket.on("connect", () => settle(true)).on("error", () => settle(false));
      socket.on("connect", () => socket.destroy());
    });
    if (isOpen) return;
  }
  throw new Error("the server does not listen");
}
