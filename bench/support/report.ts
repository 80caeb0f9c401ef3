/** What a benchmark prints. */

import { execFileSync } from "node:child_process";
import { availableParallelism, loadavg } from "node:os";

/** A table, right-aligned but for its first column. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? "").length)),
  );
  for (const row of [head, ...rows]) {
    const cells = row.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    );
    console.log(cells.join("  "));
  }
  console.log();
}

/** The benchmark's name, its parameters, and on what it runs. */
export function heading(name: string, parameters: string, ...versions: string[]): void {
  const load = loadavg()[0]?.toFixed(1);
  const machine = `${availableParallelism()} cores, load ${load}`;
  console.log(`${name}: ${parameters}`);
  console.log(`on Node ${process.versions.node}, ${[...versions, machine].join(", ")}\n`);
}

export function redisVersion(): string {
  const program = process.env.REDIS_SERVER ?? "redis-server";
  const said = execFileSync(program, ["--version"], { encoding: "utf8" });
  return `redis ${/v=(\S+)/.exec(said)?.[1] ?? "of unknown version"}`;
}

export function ms(value: number): string {
  return value.toFixed(2);
}

/** Whether a target is met, in words. */
export function verdict(what: string, value: number, target: number, isMet: boolean): void {
  const sign = isMet ? "met" : "MISSED";
  console.log(`${what}: ${value.toFixed(2)}, target ${target}: ${sign}`);
}
