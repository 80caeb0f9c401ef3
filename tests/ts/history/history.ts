import { execFile, fork } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** What a contender tells. Times are microseconds of the machine's monotonic clock. */
export type Told =
  | {
      readonly type: "believes";
      readonly key: string;
      readonly lease: string;
      readonly fence: string;
      readonly at: number;
      readonly until: number;
    }
  | { readonly type: "ends"; readonly lease: string; readonly at: number }
  | {
      readonly type: "writes";
      readonly key: string;
      readonly lease: string;
      readonly fence: string;
    }
  | { readonly type: "fails"; readonly code: string };

interface Belief {
  readonly key: string;
  readonly fence: string;
  readonly client: number;
  readonly life: number;
  readonly from: number;
  until: number;
}

/** What many contenders believed and wrote, for the simulation's own checkers to judge. */
export class History {
  readonly #beliefs = new Map<string, Belief>();
  readonly #writes: string[] = [];
  readonly #highest = new Map<string, bigint>();
  readonly failures = new Map<string, number>();
  refused = 0;

  /** Takes note of what one life of a client tells. */
  told(client: number, life: number, told: Told): void {
    switch (told.type) {
      case "believes": {
        const { key, fence, at, until } = told;
        const belief = this.#beliefs.get(told.lease);
        if (belief === undefined) {
          this.#beliefs.set(told.lease, { key, fence, client, life, from: at, until });
        } else {
          belief.until = Math.max(belief.until, until);
        }
        break;
      }
      case "ends":
        this.#end(told.lease, told.at);
        break;
      case "writes":
        this.#write(told);
        break;
      case "fails":
        this.failures.set(told.code, (this.failures.get(told.code) ?? 0) + 1);
    }
  }

  /** A life has ended: what it believed has ended with it. */
  died(client: number, life: number, at: number): void {
    for (const [lease, belief] of this.#beliefs) {
      if (belief.client === client && belief.life === life) this.#end(lease, at);
    }
  }

  /** How many grants a client had in all its lives. */
  grantsOf(client: number): number {
    return [...this.#beliefs.values()].filter((belief) => belief.client === client).length;
  }

  get grants(): number {
    return this.#beliefs.size;
  }

  get writes(): number {
    return this.#writes.length;
  }

  /** Throws what the checkers find. Exclusion is left out where the host does not promise it. */
  async judge(exclusion: boolean): Promise<string> {
    const keys = [...new Set([...this.#beliefs.values()].map(({ key }) => key))];
    const lines = [...this.#beliefs]
      .sort(([, one], [, other]) => one.from - other.from)
      .map(([lease, { key, fence, client, life, from, until }]) =>
        ["believed", keys.indexOf(key), client, life, lease, fence, from, until].join(" "),
      );
    const writes = this.#writes.map((write) => {
      const [key = "", ...rest] = write.split(" ");
      return ["wrote", keys.indexOf(key), ...rest].join(" ");
    });
    const folder = await mkdtemp(join(tmpdir(), "leasehold-history-"));
    try {
      const file = join(folder, "history");
      await writeFile(file, [...lines, ...writes, ""].join("\n"));
      const args = ["run", "--quiet", "--package", "leasehold-sim", "--", "--history", file];
      if (!exclusion) args.push("--fences-only");
      const { stdout } = await promisify(execFile)("cargo", args, {
        cwd: fileURLToPath(new URL("../../..", import.meta.url)),
        timeout: 300_000,
      });
      return stdout;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  #end(lease: string, at: number): void {
    const belief = this.#beliefs.get(lease);
    if (belief !== undefined) belief.until = Math.min(belief.until, at);
  }

  /** The fenced resource: refuses a fence lower than the highest it has seen. */
  #write({ key, lease, fence }: Extract<Told, { type: "writes" }>): void {
    const accepted = BigInt(fence) >= (this.#highest.get(key) ?? 0n);
    if (accepted) this.#highest.set(key, BigInt(fence));
    else this.refused += 1;
    this.#writes.push([key, lease, fence, accepted ? 1 : 0].join(" "));
  }
}

/** A contender that is started again whenever it is killed. */
export class Client {
  readonly #history: History;
  readonly #number: number;
  readonly #args: string[];
  #life = 0;
  #process: ReturnType<typeof fork>;

  constructor(history: History, number: number, args: string[]) {
    this.#history = history;
    this.#number = number;
    this.#args = args;
    this.#process = this.#start();
  }

  /** Ends it without warning; another life begins. */
  async kill(): Promise<void> {
    await this.stop();
    this.#life += 1;
    this.#process = this.#start();
  }

  /** Stops its world for so long. */
  async freeze(ms: number): Promise<void> {
    this.#process.kill("SIGSTOP");
    await new Promise((wake) => setTimeout(wake, ms));
    this.#process.kill("SIGCONT");
  }

  /** Ends it for good. */
  async stop(): Promise<void> {
    const dead = this.#process;
    const life = this.#life;
    const ended = new Promise((done) => dead.once("exit", done));
    dead.kill("SIGKILL");
    await ended;
    this.#history.died(this.#number, life, monotonic());
  }

  #start(): ReturnType<typeof fork> {
    const life = this.#life;
    const child = fork(new URL("./contender.ts", import.meta.url), [
      ...this.#args,
      String(this.#number * 1_000 + life),
    ]);
    child.on("message", (told: Told) => this.#history.told(this.#number, life, told));
    return child;
  }
}

/** A handler in the Workers runtime that contends, in a new invocation whenever one has ended. */
export class WorkerClient {
  readonly #history: History;
  readonly #number: number;
  readonly #url: () => Promise<URL>;
  readonly #stopped = new AbortController();
  readonly #running: Promise<void>;
  /** How many invocations there were. */
  lives = 0;

  constructor(history: History, number: number, url: () => Promise<URL>) {
    this.#history = history;
    this.#number = number;
    this.#url = url;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped.signal.aborted) {
      const life = this.lives;
      this.lives += 1;
      // The runtime may be on its way up again: then there is nothing to read, and so nothing believed.
      await this.#live(life).catch(() => {});
      this.#history.died(this.#number, life, monotonic());
      await new Promise((wake) => setTimeout(wake, 50));
    }
  }

  async #live(life: number): Promise<void> {
    const url = new URL(`/contend?seed=${this.#number * 1_000 + life}`, await this.#url());
    // Compressed, the lines would be held back until there are many.
    const headers = { "accept-encoding": "identity" };
    const response = await fetch(url, { headers, signal: this.#stopped.signal });
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        this.#history.told(this.#number, life, onOurClock(JSON.parse(line) as Told));
      }
    }
  }
}

/** Microseconds of the machine's monotonic clock. */
function monotonic(): number {
  return Number(process.hrtime.bigint() / 1_000n);
}

/** From the wall clock, which counts milliseconds: a belief is told no longer than it was. */
function onOurClock(told: Told): Told {
  const offset = monotonic() - Date.now() * 1_000;
  switch (told.type) {
    case "believes":
      return { ...told, at: told.at + offset + 1_000, until: told.until + offset - 1_000 };
    case "ends":
      return { ...told, at: told.at + offset - 1_000 };
    default:
      return told;
  }
}
