import { nameOf } from "./commands.ts";
import type { FaultKind } from "./faults.ts";
import type { RedisConnection } from "./redis.ts";
import type { Command, Reply } from "./resp.ts";
import { isGuardLine } from "./shebang.ts";

export type Shape = "single" | "pipeline" | "stream";

export interface RequestRecord {
  /** Counted from 1 over the endpoint's life. */
  readonly index: number;
  /** `performance.now()` when the whole request had arrived. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Lower-case names, `authorization` left out. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absent when the request was refused before it was understood. */
  readonly shape?: Shape;
  readonly commands: readonly (readonly string[])[];
  /** The faults it met, in order. */
  readonly faults: FaultKind[];
  /** Absent while unanswered, and when the answer was withheld. */
  status?: number;
}

export class RequestLog {
  readonly #records: RequestRecord[] = [];
  #total = 0;

  get all(): readonly RequestRecord[] {
    return this.#records;
  }

  /** Also counts what `clear` forgot. */
  get total(): number {
    return this.#total;
  }

  /** The requests that carry the command, any case. */
  withCommand(name: string): RequestRecord[] {
    const wanted = name.toLowerCase();
    return this.#records.filter((record) =>
      record.commands.some((command) => command[0]?.toLowerCase() === wanted),
    );
  }

  clear(): void {
    this.#records.length = 0;
  }

  add(entry: Omit<RequestRecord, "index" | "at" | "faults">): RequestRecord {
    this.#total += 1;
    const record = { ...entry, index: this.#total, at: performance.now(), faults: [] };
    this.#records.push(record);
    return record;
  }
}

export interface Bill {
  /** Commands sent by clients, pipelined commands one by one. */
  readonly sent: number;
  /** Commands that scripts ran. */
  readonly inScript: number;
  readonly total: number;
  /** Both kinds by lower-case name. */
  readonly byName: Readonly<Record<string, number>>;
}

const MONITOR_LINE = /^\S+ \[\d+ (\S+)\] "([^"]*)"(?: "([^"]*)")?/;

/** Counts commands as Upstash bills them, before any multiplication by regions. */
export class CommandBill {
  #sent = 0;
  #inScript = 0;
  #names = new Map<string, number>();
  #markers = 0;
  readonly #awaited = new Map<string, () => void>();
  readonly #main: () => Promise<RedisConnection>;

  constructor(main: () => Promise<RedisConnection>) {
    this.#main = main;
  }

  /** The bill so far, with every command already answered in it. */
  async read(): Promise<Bill> {
    await this.#settle();
    return {
      sent: this.#sent,
      inScript: this.#inScript,
      total: this.#sent + this.#inScript,
      byName: Object.fromEntries(this.#names),
    };
  }

  /** What it costs to run `work`, provided nobody else uses the endpoint meanwhile. */
  async during(work: () => Promise<unknown>): Promise<Bill> {
    const before = await this.read();
    await work();
    const after = await this.read();
    const names = Object.entries(after.byName).map(
      ([name, count]) => [name, count - (before.byName[name] ?? 0)] as const,
    );
    return {
      sent: after.sent - before.sent,
      inScript: after.inScript - before.inScript,
      total: after.total - before.total,
      byName: Object.fromEntries(names.filter(([, count]) => count > 0)),
    };
  }

  noteSent(commands: readonly Command[]): void {
    this.#sent += commands.length;
    for (const command of commands) this.#count(nameOf(command));
  }

  async watch(monitor: RedisConnection): Promise<void> {
    const started = Promise.withResolvers<void>();
    monitor.stream(["MONITOR"], (line) => {
      started.resolve();
      this.#hear(line);
    });
    await Promise.race([started.promise, monitor.closed]);
  }

  // MONITOR lines come in order of execution: once the marker shows, all before it has been heard.
  async #settle(): Promise<void> {
    this.#markers += 1;
    const marker = `endpoint-bill-marker-${this.#markers}`;
    const main = await this.#main();
    const heard = new Promise<void>((resolve) => this.#awaited.set(marker, resolve));
    await main.send("ECHO", marker);
    await Promise.race([heard, main.closed]);
    this.#awaited.delete(marker);
  }

  #hear(line: Reply): void {
    if (line.kind !== "simple" || isGuardLine(line.text)) return;
    const [, source, name = "", argument = ""] = MONITOR_LINE.exec(line.text) ?? [];
    if (source === "lua") {
      this.#inScript += 1;
      this.#count(name.toLowerCase());
    } else {
      this.#awaited.get(argument)?.();
    }
  }

  #count(name: string): void {
    this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
  }
}
