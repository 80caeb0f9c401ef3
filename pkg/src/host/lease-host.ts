/**
 * The lease host as a Durable Object class, for your own Worker:
 *
 * ```ts
 * export { LeaseHost } from "leasehold/host";
 * ```
 *
 * with a binding to it and a migration that lists it under `new_sqlite_classes`.
 */

import { DurableObject } from "cloudflare:workers";
import { narrowed } from "../backends/routing.js";
import type { WireResponse } from "../lease/backend.js";
import { currentGeneration, door, inWasm, textOf, wasm } from "./instance.js";
import {
  type LayoutInForce,
  type LayoutSettings,
  layoutSetting,
  ownNamespace,
  type Setting,
} from "./layout.js";
import { Parking } from "./parking.js";
import { answer, methodNotAllowed, refused } from "./reply.js";

export type { LayoutInForce, LayoutSettings } from "./layout.js";

/** What a subclass may set. */
export interface LeaseHostSettings extends LayoutSettings {
  /** For tests: the wall clock, in milliseconds; `Date.now` unless set. */
  readonly now?: () => number;
}

interface Step {
  replies: { to: number; response: WireResponse }[];
  alarm?: { inMs?: number };
  /** The object that records the layout has to be asked first. */
  ask?: true;
  /** Nothing is left that anybody could need. */
  vanished?: true;
}

type Plan =
  | { readonly told: LayoutInForce }
  | { readonly refused: WireResponse }
  | { readonly close: string[]; readonly jurisdiction?: string };

/**
 * Grants leases over keys, from one object's storage. Reached by `call` over RPC, or by `fetch`
 * with the same request as a JSON body. Every step is one transaction on the object's storage.
 */
export class LeaseHost<Env = unknown> extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #setting: Setting;
  readonly #parking = new Parking<WireResponse>();
  #object: wasm.LeaseObject | undefined;
  #generation = currentGeneration();

  /** Called by the runtime, without settings. */
  constructor(ctx: DurableObjectState, env: Env, settings: LeaseHostSettings = {}) {
    super(ctx, env);
    this.#now = settings.now ?? Date.now;
    this.#setting = layoutSetting(env, settings);
  }

  /** Carries out one request of the protocol. Whatever is wrong with it, the answer is a value. */
  call(request: unknown): Promise<WireResponse> {
    return this.#serve(textOf(request)).answer;
  }

  /** The same for callers without RPC: `POST` with the request as JSON. */
  override async fetch(request: Request): Promise<Response> {
    if (request.method !== "POST") {
      return methodNotAllowed("POST");
    }
    const parked = this.#serve(await request.text());
    const { signal } = request;
    const leave = () => this.#leave(parked.ticket, signal.reason);
    signal.addEventListener("abort", leave);
    // While the body came in, it may have gone.
    if (signal.aborted) leave();
    try {
      return answer(await parked.answer);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Serves waiters whose turn has come or whose time is up. */
  override async alarm(): Promise<void> {
    this.#step((object, now) => object.tick(now));
  }

  /**
   * On the object named `layout`, which answers its shards: the layout in force. The first that asks
   * settles it.
   */
  async layoutInForce(setting: string): Promise<LayoutInForce> {
    return JSON.parse(this.#within((object, now) => object.ask(now, setting)));
  }

  /**
   * On the object named `layout`, for an operator: brings the number of shards that was deployed
   * into force. The shards before grant nothing more, and the change is in force when the last
   * of their leases has run out. Repeating it does no harm.
   */
  async changeLayout(): Promise<LayoutInForce | WireResponse> {
    const plan: Plan = JSON.parse(this.#within((object, now) => object.plan(now)));
    if ("told" in plan) {
      return plan.told;
    }
    if ("refused" in plan) {
      return plan.refused;
    }
    const namespace = ownNamespace(this.env, this.#setting.layout ?? "", this.ctx.id);
    if (namespace === undefined) {
      return UNBOUND;
    }
    const shards = narrowed(namespace, plan.jurisdiction);
    const left = await Promise.all(
      plan.close.map((name): Promise<number> => shards.get(shards.idFromName(name)).closeShard()),
    );
    const longest = Math.max(...left);
    return JSON.parse(this.#within((object, now) => object.change(now, longest)));
  }

  /**
   * On a shard, for the object named `layout`: grants nothing more until the register has been asked
   * again. For how many milliseconds its last lease still runs; no renewal goes beyond.
   */
  async closeShard(): Promise<number> {
    const left = this.#within((object, now) => object.close(now));
    this.#parking.abandon(new Error("the shard has been closed: ask again"));
    return left;
  }

  #serve(request: string): { ticket: number; answer: Promise<WireResponse> } {
    // First, so that it does not give up on the new ticket.
    this.#noticeReplacement();
    const parked = this.#parking.park();
    this.#take(parked.ticket, request);
    return parked;
  }

  #take(ticket: number, request: string, told?: string): void {
    const { layout, refused } = this.#setting;
    if (refused !== undefined) {
      this.#parking.settle(ticket, refused);
      return;
    }
    try {
      const { ask } = this.#step((object, now) => object.call(now, ticket, request, told));
      if (ask) {
        void this.#ask(ticket, request, layout);
      }
    } catch {
      // The answer has been rejected with the same error.
    }
  }

  async #ask(ticket: number, request: string, layout: string): Promise<void> {
    try {
      const namespace = ownNamespace(this.env, layout, this.ctx.id);
      if (namespace === undefined) {
        this.#parking.settle(ticket, UNBOUND);
        return;
      }
      const register = namespace.get(namespace.idFromName("layout"));
      const told: LayoutInForce = await register.layoutInForce(layout);
      if (this.#parking.has(ticket)) {
        this.#take(ticket, request, JSON.stringify(told));
      }
    } catch {
      this.#parking.settle(ticket, UNTOLD);
    }
  }

  #leave(ticket: number, reason: unknown): void {
    if (!this.#parking.leave(ticket, reason)) {
      return;
    }
    try {
      this.#step((object, now) => object.gone(now, ticket));
    } catch {
      // Nobody is there to be told. Its place in the queue ends by time.
    }
  }

  #step(run: (object: wasm.LeaseObject, now: number) => string): Step {
    const step: Step = JSON.parse(this.#within(run));
    for (const { to, response } of step.replies) {
      this.#parking.settle(to, response);
    }
    if (step.vanished) {
      this.#vanish();
    } else {
      this.#arm(step.alarm);
    }
    return step;
  }

  /** Runs one transaction. */
  #within<T>(run: (object: wasm.LeaseObject, now: number) => T): T {
    this.#noticeReplacement();
    try {
      return inWasm(() => {
        const { layout, refused } = this.#setting;
        if (layout === undefined) {
          throw new Error(refused.message);
        }
        const { id, storage } = this.ctx;
        this.#object ??= new wasm.LeaseObject(storage.sql, id.name, layout, door(this.env));
        const object = this.#object;
        return storage.transactionSync(() => run(object, this.#now()));
      });
    } catch (error) {
      this.#discard(error);
      throw error;
    }
  }

  /** After a trap anywhere in the isolate, what this object had in the wasm memory is gone. */
  #noticeReplacement(): void {
    if (this.#generation !== currentGeneration()) {
      this.#generation = currentGeneration();
      this.#object = undefined;
      this.#parking.abandon(new Error("the host has lost its memory: ask again"));
    }
  }

  /** What is in memory may be ahead of the storage now: the next step begins from the storage. */
  #discard(error: unknown): void {
    if (this.#generation === currentGeneration()) {
      this.#object?.free();
    }
    this.#object = undefined;
    this.#parking.abandon(error);
  }

  /**
   * Nothing is left that anybody could need. In the same turn as the step that found it so: whatever
   * comes later finds an object that was never used.
   */
  #vanish(): void {
    this.#object?.free();
    this.#object = undefined;
    const { storage } = this.ctx;
    Promise.all([storage.deleteAlarm(), storage.deleteAll()]).catch((error: unknown) => {
      this.#discard(error);
    });
  }

  /** Last of all, since in an alarm handler this replaces the runtime's own retry. */
  #arm(alarm: Step["alarm"]): void {
    if (alarm === undefined) {
      return;
    }
    const { storage } = this.ctx;
    const armed =
      alarm.inMs === undefined ? storage.deleteAlarm() : storage.setAlarm(Date.now() + alarm.inMs);
    armed.catch((error: unknown) => this.#discard(error));
  }
}

const UNBOUND = refused(
  "UNAVAILABLE",
  "not-configured",
  "With shards, the Worker that exports the class needs a binding to it of its own.",
);

const UNTOLD = refused(
  "UNAVAILABLE",
  "layout-unknown",
  "The object that records the layout gave no answer: nothing was done.",
);
