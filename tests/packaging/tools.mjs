// What the rows' commands call. `page <file or URL>` prints the text of a page in Chromium;
// `serve <page | text> <URL> <command>...` does so while the command serves it.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { pathToFileURL } from "node:url";

const READY_MS = 60_000;

const [tool, ...args] = process.argv.slice(2);
await { page: async (where) => console.log(await page(where)), serve }[tool](...args);

async function page(where) {
  const profile = await mkdtemp(join(tmpdir(), "leasehold-chromium-"));
  const url = existsSync(where) ? pathToFileURL(resolve(where)).href : where;
  const browser = spawn(process.env.CHROMIUM, [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--ignore-certificate-errors",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
  ]);
  const closed = once(browser, "close");
  try {
    return await textOf(url, await debugged(browser));
  } finally {
    browser.kill("SIGKILL");
    await closed;
    await rm(profile, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Where the browser listens for commands, which it says first. */
async function debugged(browser) {
  let said = "";
  for await (const text of browser.stderr.setEncoding("utf8")) {
    said += text;
    const [, host] = /DevTools listening on ws:\/\/([^/]+)/.exec(said) ?? [];
    if (host !== undefined) return host;
  }
  throw new Error(`the browser does not start:\n${said}`);
}

/** The page's text, as soon as it has any. */
async function textOf(url, host) {
  const opened = await fetch(`http://${host}/json/new?${encodeURI(url)}`, { method: "PUT" });
  const { webSocketDebuggerUrl } = await opened.json();
  const socket = new WebSocket(webSocketDebuggerUrl);
  await once(socket, "open");
  const params = { expression: "document.body?.innerText.trim()" };
  for (const until = Date.now() + READY_MS; Date.now() < until; await pause(100)) {
    socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params }));
    const [{ data }] = await once(socket, "message");
    const text = JSON.parse(data).result?.result?.value;
    if (text) return text;
  }
  throw new Error(`${url} shows nothing`);
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
