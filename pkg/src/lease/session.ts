import type { Holder } from "#client-wasm";
import { ask } from "./ask.js";
import type { LeaseBackend } from "./backend.js";
import { type Clock, unref } from "./clock.js";
import { type Deferred, deferred } from "./deferred.js";
import {
  type BackendError,
  checked,
  type Failure,
  invalid,
  LeaseError,
  toLeaseError,
  withStack,
} from "./errors.js";

import { type LeaseEvent, LeaseNotice } from "./events.js";
import { failureOf } from "./failure.js";
import type { LeaseHandle } from "./handle.js";
import { Lease } from "./lease.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import type { Done, Outcome, Send, Step, StepEvent, StepState } from "./step.js";
import { type CallLimits, limited } from "./waiting.js";

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
  /** Frees a lease that was handed over for nobody. */
  takeBack(handle: LeaseHandle): void;
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
  #slot = 0;
  #wanted = 0;
  readonly #terms: SessionTerms;
  /** The leases of the one grant that are not given back. */
  readonly #leases = new Set<Lease>();
  #loss: LeaseError | undefined;

  readonly #around: Surroundings;
  #machine: Holder | undefined;
  #timer: unknown;
  readonly #attempts = new Map<number, AbortController>();
  /** The last failure to get an answer, told as the cause of what followed from it. */
  #unanswered: BackendError | undefined;
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

  constructor(around: Surroundings, machine: Holder, terms: SessionTerms) {
    this.#around = around;
    this.#machine = machine;
    this.key = terms.key;
    this.holder = terms.holder;
    this.#ttlMs = terms.ttlMs;
    this.#terms = terms;
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

  /** The leases of this grant that are not given back. */
  get leases(): Iterable<Lease> {
    return this.#leases;
  }

  /** Whether more than one is. */
  get isShared(): boolean {
    return this.#leases.size > 1;
  }

  /** Whether the grant can be shared by whoever asks like this. */
  isSharedBy({ key, holder, limit }: SessionTerms): boolean {
    const own = this.#terms;
    const isAlike = own.key === key && own.holder === holder && own.limit === limit;
    return isAlike && own.reentrant === true && this.isTrusted;
  }

  /** Another lease of this grant. */
  share(): Lease {
    const lease = Lease.open(this);
    this.#leases.add(lease);
    return lease;
  }

  /** Gives one of several leases of this grant back. */
  leave(lease: Lease): boolean {
    return this.isShared && this.#leases.delete(lease);
  }

  get slot(): number {
    return this.#slot;
  }

  get wanted(): number {
    return this.#wanted;
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
    return this.isHeld ? undefined : (this.#loss ?? this.lost(this.#state));
  }

  renew(ttlMs: number | undefined, limits: CallLimits): Promise<void> {
    return this.#within(limits, () => this.#renew(ttlMs));
  }

  #renew(ttlMs: number | undefined): Promise<void> {
    return this.#ask(
      (machine, monotonic, wall, ticket) => {
        const step: Step = machine.renew(monotonic, wall, ticket, ttlMs);
        this.#ttlMs = ttlMs ?? this.#ttlMs;
        return step;
      },
      () => {},
    );
  }

  verify(limits: CallLimits): Promise<void> {
    return this.#within(limits, () => this.#verify());
  }

  #verify(): Promise<void> {
    return this.#ask(
      (machine, monotonic, wall, ticket) => machine.verify(monotonic, wall, ticket),
      () => {},
    );
  }

  /** What comes of it when nobody waits any more is taken back. */
  async transfer(
    toHolder: string,
    ttlMs = this.#ttlMs,
    limits: CallLimits = {},
  ): Promise<LeaseHandle> {
    let isAwaited = true;
    try {
      return await this.#within(limits, () => {
        const transferred = this.#transfer(toHolder, ttlMs);
        transferred.then(
          (handle) => isAwaited || this.#around.takeBack(handle),
          () => {},
        );
        return transferred;
      });
    } finally {
      isAwaited = false;
    }
  }

  #transfer(toHolder: string, toTtlMs: number): Promise<LeaseHandle> {
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

  /** Without a value, it is deleted. */
  setEntry(_name: string, _value: string | undefined, limits: CallLimits): Promise<void> {
    return this.#within(limits, () => Promise.reject(invalid("setEntry", "is not served yet")));
  }

  finish(_result: string, _keepMs: number, limits: CallLimits): Promise<void> {
    return this.#within(limits, () => Promise.reject(invalid("finish", "is not served yet")));
  }

  #within<T>(limits: CallLimits, begin: () => Promise<T>): Promise<T> {
    return limited(begin, limits, this.#around.clock, () => {
      throw this.#error({ code: "UNAVAILABLE", reason: "no-answer" });
    });
  }

  detach(): LeaseHandle {
    const why = this.notHeld();
    if (why !== undefined) {
      throw withStack(why);
    }
    this.#step((machine, monotonic, wall) => machine.detach(monotonic, wall));
    return this.#handle;
  }

  get #handle(): LeaseHandle {
    const { key, holder } = this;
    const fence = String(this.#fence);
    return { v: 1, key, holder, id: this.#id, fence, ttlMs: this.#ttlMs };
  }

  release(): Promise<ReleaseResult> {
    this.#release ??= this.#giveBack();
    return this.#release;
  }

  /** How the release ended, as far as its caller waits for that. */
  confirmed(release: Promise<ReleaseResult>, limits: CallLimits): Promise<ReleaseResult> {
    const { clock } = this.#around;
    // A release never rejects, so that what does is the caller's own end of the waiting.
    return limited(
      () => release,
      limits,
      clock,
      () => UNCONFIRMED,
    ).catch(() => UNCONFIRMED);
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
      reject(this.#loss ?? this.lost(this.#state));
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
      this.#unanswered = failureOf(error, "The client");
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
      this.#loss = this.lost(lost.reason);
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
        this.#notify(
          () => new LeaseNotice(type, remainingMs),
          (lease) => ({
            type,
            key,
            lease,
            remainingMs,
          }),
        );
        break;
      }
      case "renewfailed": {
        const { type, remainingMs } = event;
        const error = this.#error(event);
        this.#notify(
          () => new LeaseNotice(type, remainingMs, error),
          (lease) => ({
            type,
            key,
            lease,
            remainingMs,
            error,
          }),
        );
        break;
      }
      case "lost": {
        const { type } = event;
        const error = this.#loss ?? this.lost(event.reason);
        this.#notify(
          () => new LeaseNotice(type, 0, error),
          (lease) => ({ type, key, lease, error }),
        );
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
    const lease = this.share();
    this.#id = id;
    this.#fence = BigInt(fence);
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
    const verdict = this.#unanswered?.verdict;
    const isCause = failure.code === "UNAVAILABLE" || failure.reason === verdict?.reason;
    const cause = isCause ? this.#unanswered : undefined;
    const fence = this.#fence === 0n ? undefined : this.#fence;
    return toLeaseError(this.#known(failure), { key: this.key, fence, cause });
  }

  /** Says so where the other holder is this very client. */
  #known(failure: Failure): Failure {
    const isHeld = failure.code === "HELD" || failure.code === "TIMEOUT";
    const isOwn = ({ key, isTrusted }: Session) => key === this.key && isTrusted;
    return isHeld && [...this.#around.held].some(isOwn)
      ? { ...failure, reason: "own-lease" }
      : failure;
  }

  /** The error that says so. */
  lost(reason: string): LeaseError {
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
    const resending = () => this.#resent(attempt);
    const { host, clock } = this.#around;
    ask(host, request, { signal, timeoutMs, rebind, clock, resending }).then(
      (response) => this.#answered(attempt, response),
      (error: BackendError) => this.#failed(attempt, error),
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

  #answered(attempt: number, response: string): void {
    this.#attempts.delete(attempt);
    this.#step((machine, monotonic, wall) => machine.answered(monotonic, wall, attempt, response));
  }

  #failed(attempt: number, error: BackendError): void {
    if (this.#attempts.has(attempt)) {
      this.#unanswered = error;
    }
    const { delivery, retryAfterMs, verdict, message } = error;
    if (verdict !== undefined) {
      const refusal = { v: 1, outcome: "refused", ...verdict, message };
      this.#answered(attempt, JSON.stringify(refusal));
      return;
    }
    this.#attempts.delete(attempt);
    this.#step((machine, monotonic, wall) =>
      machine.failed(monotonic, wall, attempt, delivery === "never", retryAfterMs),
    );
  }

  #notify(notice: (() => LeaseNotice) | undefined, describe: (lease: Lease) => LeaseEvent): void {
    for (const lease of this.#leases) {
      this.#untold.push(() => notice && lease.dispatchEvent(notice()));
      this.#say(describe(lease));
    }
  }

  #say(event: LeaseEvent): void {
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

/** What a session is about. */
export interface SessionTerms {
  readonly key: string;
  readonly holder: string;
  readonly ttlMs: number;
  readonly limit?: number;
  /** Whether the grant may be shared by re-entry. */
  readonly reentrant?: boolean;
}

type Input = (machine: Holder, monotonic: number, wall: number) => Step;

type Asking = (machine: Holder, monotonic: number, wall: number, ticket: number) => Step;

const BROKEN = { code: "UNAVAILABLE", reason: "internal-error" } as const;

const UNCONFIRMED = { released: false, reason: "unconfirmed" } as const;

/** Runs code of others, whose exceptions are not ours to die of. */
export function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    console.error("leasehold: a listener threw", error);
  }
}
