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
import type { WireResponse } from "../lease/backend.js";
import { currentGeneration, guarded, LeaseObject, textOf } from "./instance.js";
import { Parking } from "./parking.js";
import { json, malformedJson, methodNotAllowed } from "./reply.js";

/** What a test may set. */
export interface LeaseHostSettings {
  /** The wall clock, in milliseconds; `Date.now` unless set. */
  now?: () => number;
}

interface Step {
  replies: { to: number; response: WireResponse }[];
  alarm?: { inMs?: number };
}

/**
 * Grants leases over keys, from one object's storage. Reached by `call` over RPC, or by `fetch`
 * with the same request as a JSON body. Every step is one transaction on the object's storage.
 */
export class LeaseHost<Env = unknown> extends DurableObject<Env> {
  readonly #now: () => number;
  readonly #parking = new Parking<WireResponse>();
  #object: LeaseObject | undefined;
  #generation = currentGeneration();

  /** Called by the runtime, without settings. */
  constructor(ctx: DurableObjectState, env: Env, settings: LeaseHostSettings = {}) {
    super(ctx, env);
    this.#now = settings.now ?? Date.now;
  }

  /** Carries out one request of the protocol. Whatever is wrong with it, the answer is a value. */
  call(request: unknown): Promise<WireResponse> {
    return this.#serve(request).answer;
  }

  /** The same for callers without RPC: `POST` with the request as JSON. */
  override async fetch(request: Request): Promise<Response> {
    if (request.method !== "POST") {
      return methodNotAllowed("POST");
    }
    let body: unknown;
    try {
      body = await request.json();
    } catch {
      return malformedJson();
    }
    const { ticket, answer } = this.#serve(body);
    const { signal } = request;
    const leave = () => this.#leave(ticket, signal.reason);
    signal.addEventListener("abort", leave);
    try {
      return json(200, await answer);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  /** Serves waiters whose turn has come or whose time is up. */
  override async alarm(): Promise<void> {
    this.#step((object, now) => object.tick(now));
  }

  #serve(request: unknown): { ticket: number; answer: Promise<WireResponse> } {
    // First, so that it does not give up on the new ticket.
    this.#noticeReplacement();
    const parked = this.#parking.park();
    const text = textOf(request);
    try {
      this.#step((object, now) => object.call(now, parked.ticket, text));
    } catch {
      // The answer has been rejected with the same error.
    }
    return parked;
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

  #step(run: (object: LeaseObject, now: number) => string): void {
    this.#noticeReplacement();
    let text: string;
    try {
      text = guarded(() => {
        this.#object ??= new LeaseObject(this.ctx);
        const object = this.#object;
        return this.ctx.storage.transactionSync(() => run(object, this.#now()));
      });
    } catch (error) {
      this.#discard(error);
      throw error;
    }
    const { replies, alarm } = JSON.parse(text) as Step;
    for (const { to, response } of replies) {
      this.#parking.settle(to, response);
    }
    this.#arm(alarm);
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
