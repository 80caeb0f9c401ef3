import type { Holder } from "#client-wasm";
import type { LeaseBackend, WireResponse } from "./backend.js";
import { type Clock, unref } from "./clock.js";
import { type Deferred, deferred } from "./deferred.js";
import { BackendError, checked, type Failure, LeaseError, toLeaseError } from "./errors.js";
import { type LeaseEvent, LeaseNotice } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import { Lease } from "./lease.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import type { Done, Outcome, Send, Step, StepEvent, StepState } from "./step.js";

/** What all sessions of a client share. */
export interface Surroundings {
  readonly host: LeaseBackend;
  readonly clock: Clock;
  readonly keepProcessAlive: boolean;
  /** Sessions with a lease that is held or detached. */
  readonly held: Set<Session>;
  /** Sessions with something under way, or a lease; nothing where leases belong to requests. */
  readonly open: Set<Session> | undefined;
  /** Keeps the invocation alive until the promise settles. */
  waitUntil(promise: Promise<unknown>): void;
  /** Tells the client's owner. Never throws. */
  tell(event: LeaseEvent): void;
}

/**
 * Drives the machine of one lease, from the first attempt to its end: makes the attempts it asks
 * for, keeps its one timer, and turns its events into promises settled and people told.
 *
 * In each step the state changes first, and code of others runs last: whatever it reads or calls
 * then, it finds the lease as it is.
 */
export class Session {
  readonly key: string;
  readonly holder: string;
  /** Length of the terms to come, as the handle tells it. */
  #ttlMs: number;
  #state: StepState = "acquiring";
  #id = "";
  #fence = 0n;
  #lease: Lease | undefined;
  #loss: LeaseError | undefined;

  readonly #around: Surroundings;
  #machine: Holder | undefined;
  #timer: unknown;
  readonly #attempts = new Map<number, AbortController>();
  /** The last failure to get an answer, told as the cause of what followed from it. */
  #unanswered: unknown;
  readonly #ending = new AbortController();
  readonly #closed = deferred<void>();
  #isOutliving = false;

  readonly #granted = deferred<Lease>();
  /** Who waits for the outcome of an operation, by its ticket. */
  readonly #asked = new Map<number, Omit<Deferred<Done>, "promise">>();
  #tickets = 0;
  #release: Promise<ReleaseResult> | undefined;

  /** What is still to be told, oldest first. */
  readonly #untold: (() => void)[] = [];
  #isTelling = false;

  constructor(
    around: Surroundings,
    machine: Holder,
    lease: { readonly key: string; readonly holder: string; readonly ttlMs: number },
  ) {
    this.#around = around;
    this.#machine = machine;
    this.key = lease.key;
    this.holder = lease.holder;
    this.#ttlMs = lease.ttlMs;
  }

  /** Sends the first attempt. The promise is of the lease. */
  start(): Promise<Lease> {
    this.#around.open?.add(this);
    this.#step((machine, monotonic, wall) => machine.start(monotonic, wall));
    return this.#granted.promise;
  }

  /** Stops waiting for the grant; what the host gave meanwhile is taken back. */
  cancel(reason: unknown): void {
    if (this.#state === "acquiring") {
      this.#granted.reject(reason);
      this.#say({ type: "failed", key: this.key, error: reason });
      this.#step((machine, monotonic, wall) => machine.cancel(monotonic, wall));
    }
  }

  /** Whether there is a lease that a client which closes has to give back, or is giving back. */
  get hasToRelease(): boolean {
    return this.#state === "held" || this.#state === "releasing";
  }

  /** Stops waiting, or gives the lease back unless it is detached; waits until all is through. */
  async close(reason: unknown): Promise<ReleaseResult> {
    this.cancel(reason);
    if (this.#state === "detached") {
      return { released: false, reason: "detached" };
    }
    const result = await this.release();
    await this.#closed.promise;
    return result;
  }

  /** Looks at the clock: a lease whose term is over is lost from here on. */
  look(): void {
    if (this.isOverdue) {
      this.#step((machine, monotonic, wall) => machine.wake(monotonic, wall));
    }
  }

  /** Whether the lease is held, not detached, and its term not over. Changes nothing. */
  get isTrusted(): boolean {
    return this.#state === "held" && !this.isOverdue;
  }

  /** Whether the term is over without anybody having looked. Changes nothing. */
  get isOverdue(): boolean {
    const { clock } = this.#around;
    return this.#machine?.isOverdue(clock.monotonic(), clock.wall()) ?? false;
  }

  get ttlMs(): number {
    return this.#ttlMs;
  }

  get lease(): Lease | undefined {
    return this.#lease;
  }

  get id(): string {
    return this.#id;
  }

  get fence(): bigint {
    return this.#fence;
  }

  get signal(): AbortSignal {
    this.look();
    return this.#ending.signal;
  }

  get state(): LeaseState {
    this.look();
    return this.#state as LeaseState;
  }

  get isHeld(): boolean {
    return this.state === "held" || this.state === "detached";
  }

  remainingMs(): number {
    this.look();
    const { clock } = this.#around;
    return this.#machine?.remainingMs(clock.monotonic(), clock.wall()) ?? 0;
  }

  /** The reason why the lease is not held, or nothing while it is. */
  notHeld(): LeaseError | undefined {
    return this.isHeld ? undefined : (this.#loss ?? this.#lost(this.#state));
  }

  renew(ttlMs: number | undefined): Promise<void> {
    return this.#ask(
      (machine, monotonic, wall, ticket) => {
        const step: Step = machine.renew(monotonic, wall, ticket, ttlMs);
        this.#ttlMs = ttlMs ?? this.#ttlMs;
        return step;
      },
      () => {},
    );
  }

  verify(): Promise<void> {
    return this.#ask(
      (machine, monotonic, wall, ticket) => machine.verify(monotonic, wall, ticket),
      () => {},
    );
  }

  transfer(toHolder: string, toTtlMs: number): Promise<LeaseHandle> {
    const { key } = this;
    return this.#ask(
      (machine, monotonic, wall, ticket) =>
        machine.transfer(monotonic, wall, ticket, toHolder, toTtlMs),
      (done) => {
        const { holder, lease, fence, ttlMs } = done as Required<Done>;
        return { v: 1, key, holder, id: lease, fence, ttlMs };
      },
    );
  }

  detach(): void {
    const why = this.notHeld();
    if (why !== undefined) {
      throw why;
    }
    this.#step((machine, monotonic, wall) => machine.detach(monotonic, wall));
  }

  release(): Promise<ReleaseResult> {
    this.#release ??= this.#giveBack();
    return this.#release;
  }

  async #giveBack(): Promise<ReleaseResult> {
    try {
      return await this.#ask(
        (machine, monotonic, wall, ticket) => machine.release(monotonic, wall, ticket),
        ({ released = false, reason }) =>
          reason === undefined ? { released } : { released, reason },
      );
    } catch (error) {
      return { released: false, reason: String((error as LeaseError).reason) };
    }
  }

  /** Gives the machine something to do; the outcome is what `present` makes of it. */
  #ask<T>(input: Asking, present: (done: Done) => T): Promise<T> {
    const { promise, resolve, reject } = deferred<T>();
    if (this.#machine === undefined) {
      reject(this.#loss ?? this.#lost(this.#state));
      return promise;
    }
    this.#tickets += 1;
    const ticket = this.#tickets;
    this.#asked.set(ticket, { resolve: (done) => resolve(present(done)), reject });
    try {
      this.#step((machine, monotonic, wall) => input(machine, monotonic, wall, ticket));
    } catch (error) {
      this.#asked.delete(ticket);
      reject(error);
    }
    return promise;
  }

  #step(input: Input): void {
    if (this.#machine !== undefined) {
      this.#apply(this.#run(this.#machine, input));
    }
  }

  /** What the machine wants done. Throws if it calls an argument bad. */
  #run(machine: Holder, input: Input): Step {
    const { clock } = this.#around;
    try {
      return checked(() => input(machine, clock.monotonic(), clock.wall()));
    } catch (error) {
      if (error instanceof LeaseError) {
        throw error;
      }
      // Out of memory, or a bug. What can't be watched over can't be trusted.
      this.#machine = undefined;
      this.#unanswered = error;
      const { reason } = BROKEN;
      const isNew = this.#state === "acquiring";
      const end: StepEvent = isNew ? { type: "failed", ...BROKEN } : { type: "lost", reason };
      const settled = [...this.#asked.keys()].map(
        (ticket): StepEvent => ({ type: "settled", ticket, ...BROKEN }),
      );
      const drops = [...this.#attempts.keys()];
      const events = [end, ...settled, { type: "closed" } as const];
      return { state: isNew ? "failed" : "lost", sends: [], drops, events };
    }
  }

  #apply(step: Step): void {
    this.#become(step.state);
    const lost = step.events.find((event) => event.type === "lost");
    if (lost !== undefined) {
      this.#loss = this.#lost(lost.reason);
    }
    for (const event of step.events) {
      this.#take(event);
    }
    this.#arm(step.wakeInMs);
    this.#outlive();
    // From here on code of others runs.
    if (lost !== undefined) {
      guarded(() => this.#ending.abort(this.#loss));
    }
    for (const attempt of step.drops) {
      this.#drop(attempt);
    }
    for (const send of step.sends) {
      this.#send(send);
    }
    this.#tellAll();
  }

  #become(state: StepState): void {
    this.#state = state;
    if (state === "held" || state === "detached") {
      this.#around.held.add(this);
    } else {
      this.#around.held.delete(this);
    }
  }

  #take(event: StepEvent): void {
    const { key } = this;
    switch (event.type) {
      case "granted":
        this.#hold(event.lease, event.fence, event.remainingMs);
        break;
      case "failed":
        if (event.code !== "ABORTED") {
          const error = this.#error(event as Failure);
          this.#granted.reject(error);
          this.#say({ type: "failed", key, error });
        }
        break;
      case "queued":
        this.#say({ type: "queued", key, ahead: event.ahead });
        break;
      case "renewed":
      case "jeopardy":
      case "safe": {
        const { type, remainingMs } = event;
        this.#notify(new LeaseNotice(type, remainingMs), (lease) => ({
          type,
          key,
          lease,
          remainingMs,
        }));
        break;
      }
      case "renewfailed": {
        const { type, remainingMs } = event;
        const error = this.#error(event);
        this.#notify(new LeaseNotice(type, remainingMs, error), (lease) => ({
          type,
          key,
          lease,
          remainingMs,
          error,
        }));
        break;
      }
      case "lost": {
        const { type } = event;
        const error = this.#loss ?? this.#lost(event.reason);
        this.#notify(new LeaseNotice(type, 0, error), (lease) => ({ type, key, lease, error }));
        break;
      }
      case "released":
        this.#notify(undefined, (lease) => ({ type: "released", key, lease }));
        break;
      case "releasefailed": {
        const { type, reason } = event;
        const code = reason === "unconfirmed" ? "UNAVAILABLE" : "LOST";
        const error = this.#error({ code, reason });
        this.#notify(undefined, (lease) => ({ type, key, lease, error }));
        break;
      }
      case "settled":
        this.#settle(event.ticket, event);
        break;
      case "transferred":
        break;
      case "closed":
        this.#machine?.free();
        this.#machine = undefined;
        this.#around.open?.delete(this);
        this.#closed.resolve();
        break;
    }
  }

  #hold(id: string, fence: string, remainingMs: number): void {
    const lease = Lease.open(this);
    this.#id = id;
    this.#fence = BigInt(fence);
    this.#lease = lease;
    this.#granted.resolve(lease);
    this.#say({ type: "granted", key: this.key, lease, remainingMs });
  }

  #settle(ticket: number, outcome: Outcome): void {
    const asked = this.#asked.get(ticket);
    this.#asked.delete(ticket);
    if (outcome.code === undefined) {
      asked?.resolve(outcome);
    } else {
      asked?.reject(this.#error(outcome));
    }
  }

  #error(failure: Failure): LeaseError {
    if (failure.code === "LOST" && this.#loss !== undefined) {
      return this.#loss;
    }
    const cause = failure.code === "UNAVAILABLE" ? this.#unanswered : undefined;
    const fence = this.#fence === 0n ? undefined : this.#fence;
    return toLeaseError(failure, { key: this.key, fence, cause });
  }

  #lost(reason: string): LeaseError {
    return toLeaseError({ code: "LOST", reason }, { key: this.key, fence: this.#fence });
  }

  #arm(ms: number | undefined): void {
    const { clock, keepProcessAlive } = this.#around;
    if (this.#timer !== undefined) {
      clock.clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    if (ms === undefined) {
      return;
    }
    this.#timer = clock.setTimeout(() => {
      this.#timer = undefined;
      this.#step((machine, monotonic, wall) => machine.wake(monotonic, wall));
    }, ms);
    if (!keepProcessAlive && this.#isAtRest()) {
      unref(this.#timer);
    }
  }

  /** Whether nobody waits for anything: the lease is held, or what is left is to tidy up. */
  #isAtRest(): boolean {
    return this.#state !== "acquiring" && this.#asked.size === 0;
  }

  /** Has the invocation wait for what goes on after the lease, or the wait for it, has ended. */
  #outlive(): void {
    const isOver =
      this.#state !== "acquiring" && this.#state !== "held" && this.#state !== "detached";
    if (isOver && !this.#isOutliving && this.#machine !== undefined) {
      this.#isOutliving = true;
      this.#around.waitUntil(this.#closed.promise);
    }
  }

  #send({ attempt, request, timeoutMs, rebind }: Send): void {
    const controller = new AbortController();
    this.#attempts.set(attempt, controller);
    const { signal } = controller;
    new Promise<WireResponse>((resolve) => {
      const resending = () => this.#resent(attempt);
      resolve(this.#around.host.call(request, { signal, timeoutMs, rebind, resending }));
    }).then(
      (response) => this.#answered(attempt, response),
      (error: unknown) => this.#failed(attempt, error),
    );
  }

  #resent(attempt: number): void {
    this.#step((machine, monotonic, wall) => machine.resent(monotonic, wall, attempt));
  }

  #drop(attempt: number): void {
    const controller = this.#attempts.get(attempt);
    this.#attempts.delete(attempt);
    guarded(() => controller?.abort());
  }

  #answered(attempt: number, response: WireResponse): void {
    let text: string;
    try {
      text = JSON.stringify(response) ?? "";
    } catch (error) {
      this.#failed(attempt, error);
      return;
    }
    this.#attempts.delete(attempt);
    this.#step((machine, monotonic, wall) => machine.answered(monotonic, wall, attempt, text));
  }

  #failed(attempt: number, error: unknown): void {
    if (this.#attempts.delete(attempt)) {
      this.#unanswered = error;
    }
    const { delivery, retryAfterMs } = error instanceof BackendError ? error : UNKNOWN;
    this.#step((machine, monotonic, wall) =>
      machine.failed(monotonic, wall, attempt, delivery === "never", retryAfterMs),
    );
  }

  #notify(notice: LeaseNotice | undefined, describe: (lease: Lease) => LeaseEvent): void {
    const lease = this.#lease;
    if (lease !== undefined) {
      if (notice !== undefined) {
        this.#untold.push(() => lease.dispatchEvent(notice));
      }
      this.#say(describe(lease));
    }
  }

  #say(event: LeaseEvent): void {
    if ("lease" in event) {
      // The lease as JSON is its handle, with the credential: not for whoever logs events.
      Object.defineProperty(event, "lease", { enumerable: false });
    }
    this.#untold.push(() => this.#around.tell(event));
  }

  /** Steps taken from within a listener add to the line; the outermost tells. */
  #tellAll(): void {
    if (this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    for (let tell = this.#untold.shift(); tell !== undefined; tell = this.#untold.shift()) {
      guarded(tell);
    }
    this.#isTelling = false;
  }
}

type Input = (machine: Holder, monotonic: number, wall: number) => Step;

type Asking = (machine: Holder, monotonic: number, wall: number, ticket: number) => Step;

const BROKEN = { code: "UNAVAILABLE", reason: "internal-error" } as const;

const UNKNOWN = { delivery: "unknown", retryAfterMs: undefined } as const;

/** Runs code of others, whose exceptions are not ours to die of. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    console.error("leasehold: a listener threw", error);
  }
}
