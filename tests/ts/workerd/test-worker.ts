/** What the tests run in workerd: the product's object, with handles for causing faults. */

import "../support/started-wasm.ts";
import { type LayoutSettings, LeaseHost } from "leasehold/host";
import { exhaust, wasmOf } from "../support/started-wasm.ts";
import { bridge } from "./bridge.ts";

/** Offsets of the objects' clocks. Outside the objects, so that they outlive one. */
const skews = new Map<string, number>();

let born = 0;

export class TestHost extends LeaseHost {
  readonly #name: string;
  readonly #born: number;
  #exhausts = false;

  constructor(ctx: DurableObjectState, env: unknown, settings: LayoutSettings = {}) {
    const name = ctx.id.toString();
    super(ctx, env, { now: () => Date.now() + (skews.get(name) ?? 0), ...settings });
    this.#name = name;
    born += 1;
    this.#born = born;
  }

  /** Differs from one life of the object to the next. */
  life(): number {
    return this.#born;
  }

  /** Sets the clock off by so much. */
  skew(ms: number): void {
    skews.set(this.#name, ms);
  }

  /** Ends this life at once, as a reset of the runtime does. */
  abort(): void {
    this.ctx.abort("aborted by the test");
  }

  sql(query: string, ...values: (string | number | null)[]): Record<string, unknown>[] {
    return this.ctx.storage.sql.exec(query, ...values).toArray();
  }

  alarmAt(): Promise<number | null> {
    return this.ctx.storage.getAlarm();
  }

  /** Loses the alarm. */
  loseAlarm(): Promise<void> {
    return this.ctx.storage.deleteAlarm();
  }

  /** Leaves no memory to the host's code at the next call, which then traps in its middle. */
  exhaust(): void {
    this.#exhausts = true;
  }

  override call(request: unknown): ReturnType<LeaseHost["call"]> {
    if (this.#exhausts) {
      this.#exhausts = false;
      // In one turn with the call: what is collected as garbage between would give memory back.
      exhaust(wasmOf("LeaseObject"));
    }
    return super.call(request);
  }

  /** Runs the alarm handler out of turn. */
  ring(): Promise<void> {
    return this.alarm();
  }
}

/** One object for all keys. */
export class TestShard extends TestHost {
  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env, { shards: 1 });
  }
}

export default { fetch: bridge };
