import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { guard } from "./watchdog.ts";

export interface RedisServerOptions {
  /** Keep an append-only file, synced on every write, so that data outlives `kill`. */
  readonly appendOnly?: boolean;
  /** Settings as on redis-server's command line. */
  readonly settings?: readonly string[];
}

const START_DEADLINE_MS = 20_000;
const PORT_ATTEMPTS = 5;

/** A real redis-server on a free loopback port with a temporary directory. */
export class RedisServer {
  readonly port: number;
  readonly #directory: string;
  readonly #options: RedisServerOptions;
  #child: ChildProcess;

  private constructor(
    port: number,
    directory: string,
    options: RedisServerOptions,
    child: ChildProcess,
  ) {
    this.port = port;
    this.#directory = directory;
    this.#options = options;
    this.#child = child;
  }

  static async start(options: RedisServerOptions = {}): Promise<RedisServer> {
    const directory = await mkdtemp(join(tmpdir(), "leasehold-redis-"));
    let failure: unknown;
    for (let attempt = 0; attempt < PORT_ATTEMPTS; attempt++) {
      const port = await freePort();
      try {
        const child = await launch(port, directory, options);
        return new RedisServer(port, directory, options, child);
      } catch (error) {
        failure = error;
      }
    }
    await rm(directory, { recursive: true, force: true });
    throw failure;
  }

  /** An orderly end. */
  async stop(): Promise<void> {
    await end(this.#child, "SIGTERM");
  }

  /** A crash: SIGKILL, nothing flushed. */
  async kill(): Promise<void> {
    await end(this.#child, "SIGKILL");
  }

  /** Starts again on the same port and directory, killing the process first if it still runs. */
  async restart(): Promise<void> {
    await this.kill();
    this.#child = await launch(this.port, this.#directory, this.#options);
  }

  /** Stops the process from answering while its connections stay open. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export async function freePort(): Promise<number> {
  const probe = createServer();
  probe.listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("no loopback port");
  return address.port;
}

async function launch(
  port: number,
  directory: string,
  { appendOnly = false, settings = [] }: RedisServerOptions,
): Promise<ChildProcess> {
  const child = spawn(
    process.env.REDIS_SERVER ?? "redis-server",
    [
      ["--bind", "127.0.0.1"],
      ["--port", String(port)],
      ["--dir", directory],
      ["--save", ""],
      ["--appendonly", appendOnly ? "yes" : "no"],
      ["--appendfsync", "always"],
      settings,
    ].flat(),
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  try {
    await ready(child);
    await guard(child, directory);
  } catch (error) {
    await end(child, "SIGKILL");
    throw error;
  }
  return child;
}

function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = "";
    const timer = setTimeout(
      () => reject(new Error(`redis-server is not ready:\n${log}`)),
      START_DEADLINE_MS,
    );
    const settle = (action: () => void) => {
      clearTimeout(timer);
      action();
    };
    let started = false;
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (started) return;
      log += text;
      started = log.includes("Ready to accept connections");
      if (started) settle(resolve);
    });
    child.once("error", (error) => settle(() => reject(error)));
    child.once("exit", () => settle(() => reject(new Error(`redis-server ended:\n${log}`))));
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
