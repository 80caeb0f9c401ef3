/** What is compared in workerd: the product's object, and one written by hand for the same data. */

import { DurableObject } from "cloudflare:workers";
import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { LeaseHost } from "leasehold/host";

export { LeaseHost } from "leasehold/host";

/** One object for all keys. */
export class LeaseShard extends LeaseHost {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env, { shards: 1 });
  }
}

interface Row {
  readonly [column: string]: string | number | null;
}

/** A request as the product's object takes it. */
type Call = { readonly v: 1; readonly key: string; readonly op: string; readonly lease: string } & (
  | { readonly operation: "acquire"; readonly holder: string; readonly ttlMs: number }
  | { readonly operation: "release" }
);

interface State {
  fence: bigint;
  lease: string | null;
  op: string | null;
  holder: string | null;
  ttlMs: number | null;
  expires: number | null;
  past: string;
}

const CREATE = `CREATE TABLE IF NOT EXISTS keys (
  key TEXT PRIMARY KEY, fence TEXT NOT NULL, written INTEGER NOT NULL,
  lease TEXT, op TEXT, holder TEXT, term INTEGER, expires INTEGER, past TEXT NOT NULL
) WITHOUT ROWID`;

/**
 * The least that keeps the same: state in memory, one upsert of a key's row per operation in the
 * same kind of transaction. It knows no queue, no repeated request and no bad input.
 */
export class HandWritten extends DurableObject {
  readonly #states = new Map<string, State>();

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    ctx.storage.sql.exec(CREATE);
    for (const row of ctx.storage.sql.exec("SELECT * FROM keys").toArray()) this.#load(row as Row);
  }

  async call(request: Call): Promise<Record<string, unknown>> {
    return this.ctx.storage.transactionSync(() => this.#step(request, Date.now()));
  }

  /** For the comparison with alarms: what the step itself does, with an alarm as each is granted. */
  protected arm(_inMs: number | undefined): void {}

  #step(request: Call, now: number): Record<string, unknown> {
    const state = this.#states.get(request.key) ?? empty();
    const isHeld = state.lease !== null && (state.expires ?? 0) > now;
    if (request.operation === "acquire") {
      if (isHeld) return { v: 1, outcome: "held", holder: state.holder };
      const { op, lease, holder, ttlMs } = request;
      const granted = { op, lease, holder, ttlMs, expires: now + ttlMs, past: state.past };
      this.#save(request.key, { ...granted, fence: state.fence + 1n }, now);
      this.arm(ttlMs);
      const fence = String(state.fence + 1n);
      return { v: 1, outcome: "granted", lease, fence, ttlMs, waitedMs: 0, replayed: false };
    }
    if (!isHeld || state.lease !== request.lease) return { v: 1, outcome: "not-holder" };
    const past = `${state.op} ${state.lease} ${state.fence} ${request.op} released ${now}\n`;
    const free = { lease: null, op: null, holder: null, ttlMs: null, expires: null };
    this.#save(request.key, { ...free, fence: state.fence, past: keep(state.past, past) }, now);
    this.arm(undefined);
    return { v: 1, outcome: "released" };
  }

  #save(key: string, state: State, now: number): void {
    this.#states.set(key, state);
    this.ctx.storage.sql.exec(
      "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      key,
      String(state.fence),
      now * 1_000,
      state.lease,
      state.op,
      state.holder,
      state.ttlMs === null ? null : state.ttlMs * 1_000,
      state.expires === null ? null : state.expires * 1_000,
      state.past,
    );
  }

  #load(row: Row): void {
    this.#states.set(String(row.key), {
      fence: BigInt(row.fence ?? 0),
      lease: row.lease as string | null,
      op: row.op as string | null,
      holder: row.holder as string | null,
      ttlMs: row.term === null ? null : Number(row.term) / 1_000,
      expires: row.expires === null ? null : Number(row.expires) / 1_000,
      past: String(row.past),
    });
  }
}

/** The same, with an alarm at the grant's end, as long as there is one. */
export class HandWrittenWithAlarm extends HandWritten {
  protected override arm(inMs: number | undefined): void {
    const { storage } = this.ctx;
    const armed = inMs === undefined ? storage.deleteAlarm() : storage.setAlarm(Date.now() + inMs);
    armed.catch(() => {});
  }

  alarm(): void {}
}

function empty(): State {
  return { fence: 0n, lease: null, op: null, holder: null, ttlMs: null, expires: null, past: "" };
}

/** The last 64 lines: as many ops as the product's object keeps. */
function keep(past: string, line: string): string {
  return (past + line).split("\n").slice(-65).join("\n");
}

interface Env {
  readonly [binding: string]: LeaseNamespace;
}

interface Stub {
  call(request: Call): Promise<unknown>;
}

/** `GET /<binding>/<round>/<pairs>/<concurrency>/<objects>`: so many pairs in all. */
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [binding = "", round = "", ...numbers] = new URL(request.url).pathname
      .slice(1)
      .split("/");
    const [pairs = 0, concurrency = 1, objects = 1] = numbers.map(Number);
    const isHandWritten = binding.startsWith("HAND_WRITTEN");
    const isShared = objects === 1;
    const namespace = env[isHandWritten ? binding : isShared ? "SHARD" : "LEASEHOLD"];
    if (namespace === undefined) return new Response("no such binding", { status: 404 });
    const leases = new LeaseClient(durableObject(namespace));
    const nameFor = (key: string) => {
      if (isHandWritten) return `${round}-${Number(key) % objects}`;
      return isShared ? "shard/1/0" : `key/${key}`;
    };
    const loop = async (key: string) => {
      const stub: Stub = namespace.get(namespace.idFromName(nameFor(key)));
      for (let pair = 0; pair < pairs / concurrency; pair += 1) {
        await (binding === "CLIENT" ? viaClient(leases, key) : viaCalls(stub, key));
      }
    };
    await Promise.all(Array.from({ length: concurrency }, (_, n) => loop(String(n))));
    return new Response("done");
  },
};

async function viaClient(leases: LeaseClient, key: string): Promise<void> {
  const lease = await leases.acquire(key, { waitMs: 0 });
  await lease.release();
}

async function viaCalls(stub: Stub, key: string): Promise<void> {
  const lease = id();
  const acquire = { operation: "acquire", holder: "worker-1", ttlMs: 30_000 } as const;
  const granted = await stub.call({ v: 1, key, lease, op: id(), ...acquire });
  const released = await stub.call({ v: 1, key, lease, op: id(), operation: "release" });
  if (outcome(granted) !== "granted" || outcome(released) !== "released") {
    throw new Error(`${JSON.stringify(granted)} ${JSON.stringify(released)}`);
  }
}

function outcome(response: unknown): unknown {
  return Reflect.get(Object(response), "outcome");
}

function id(): string {
  return crypto.randomUUID().replaceAll("-", "");
}
