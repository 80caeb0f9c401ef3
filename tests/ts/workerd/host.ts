/** Requests of the protocol, and what a test sees of a host. */

import { randomBytes } from "node:crypto";
import type { WireKeyState } from "../../../pkg/src/lease/backend.js";

type Fields = Record<string, unknown>;

/** A response, as far as a test may look into it. */
export interface Response {
  readonly v: number;
  readonly outcome: string;
  readonly code?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lease?: string;
  readonly fence?: string;
  readonly holder?: string;
  readonly ttlMs?: number;
  readonly waitedMs?: number;
  readonly retryAfterMs?: number;
  readonly waiters?: number;
  readonly replayed?: boolean;
  readonly layout?: string;
  readonly revoked?: number;
  readonly state?: WireKeyState;
}

/** An object with the handles of the test's Worker. */
export interface Host {
  call(request: unknown): Promise<Response>;
  fetch(url: string, init: RequestInit): Promise<globalThis.Response>;
  life(): Promise<number>;
  skew(ms: number): Promise<void>;
  abort(): Promise<void>;
  sql(query: string, ...values: (string | number | null)[]): Promise<Record<string, unknown>[]>;
  alarmAt(): Promise<number | null>;
  loseAlarm(): Promise<void>;
  exhaust(): Promise<void>;
  ring(): Promise<void>;
}

/** The places of those who wait in an object. */
export const WAITERS = "SELECT place FROM records WHERE place LIKE 'waiter/%'";

/** A new random id. */
export function id(): string {
  return randomBytes(16).toString("hex");
}

/** A request of any operation; the fields given come last. */
export function request(operation: string, key: string, fields: Fields = {}): Fields {
  return { v: 1, operation, key, op: id(), ...fields };
}

/** An acquire by alice for ten seconds. */
export function acquire(key: string, fields: Fields = {}): Fields {
  return request("acquire", key, { holder: "alice", lease: id(), ttlMs: 10_000, ...fields });
}

export function release(key: string, fields: Fields): Fields {
  return request("release", key, fields);
}

export function renew(key: string, fields: Fields): Fields {
  return request("renew", key, { ttlMs: 10_000, ...fields });
}

/** Who holds a key, in the lowest slot, and how many wait for it. */
export async function look(host: Host, key: string) {
  const { state } = await host.call(request("inspect", key));
  return { ...state?.holders[0], waiters: state?.waiters };
}

/** What a host grants under: its time in microseconds, in decimal. */
export const FENCE = /^\d{16}$/;

/** Whether each of these fences is higher than the one before. */
export function rise(...fences: (string | undefined)[]): boolean {
  const values = fences.map((fence) => BigInt(fence ?? -1));
  return values.every((value, index) => index === 0 || value > (values[index - 1] ?? value));
}

/** Polls, as a waiter that is alive does, until there is another answer than to ask again. */
export async function waitFor(host: Host, asked: object): Promise<Response> {
  for (;;) {
    const answer = await host.call(asked);
    if (answer.outcome !== "queued") return answer;
  }
}
