import type { Holder } from "#client-wasm";
import { ask } from "./ask.js";
import type { LeaseBackend } from "./backend.js";
import { callListener } from "./call-listener.js";
import { type Clock, unref } from "./clock.js";
import { type Deferred, deferred } from "./deferred.js";
import { type BackendError, checked, type Failure, LeaseError, toLeaseError } from "./errors.js";
import { type LeaseEvent, LeaseNotice } from "./events.js";
import { failureOf } from "./failure.js";
import type { LeaseHandle } from "./handle.js";
import { Lease } from "./lease.js";
import type {
  Outcome,
  OutputEvent,
  OutputState,
  Outputs,
  Refusal,
  Send,
  Settled,
} from "./outputs.js";
import { done } from "./run-once.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import { type CallLimits, limited } from "./waiting.js";

/** What all sessions of a client share. */
export interface Environment {
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

/** What a session is about. */
export interface Terms {
  readonly key: string;
  readonly holder: string;
  /** Length of the terms to come. */
  readonly ttlMs: number;
  readonly limit?: number;
  /** Whether the grant may be shared by re-entry. */
  readonly reentrant?: boolean;
}

/**
 * Drives the machine of one grant, from the first attempt to its end: makes the attempts it asks
 * for, keeps its one timer, and turns its events into promises settled and people told.
 *
 * In each step the state changes first, and code of others runs last: whatever it reads or calls
 * then, it finds the lease as it is.
 */
export class Session {
  #terms: Terms;
  #state: OutputState = "acquiring";
  #grant: { readonly id: string; readonly fence: bigint; readonly slot: number } | undefined;
  #wanted = 0;
  #loss: LeaseError | undefined;
  /** The leases of the grant that are not given back: several by re-entry. */
  readonly #leases = new Set<Lease>();

  readonly #env: Environment;
  #machine: Holder | undefined;
  #timer: unknown;
  readonly #attempts = new Map<number, AbortController>();
  /** The last failure to get an answer, told as the cause of what followed from it. */
  #unanswered: BackendError | undefined;
  readonly #ending = new AbortController();
  readonly #closed = deferred<void>();
  #isKeptAlive = false;

  readonly #granted = deferred<Lease>();
  /** Who waits for the outcome of an operation, by its ticket. */
  readonly #asked = new Map<number, Omit<Deferred<Settled>, "promise">>();
  #tickets = 0;
  #release: Promise<ReleaseResult> | undefined;

  /** What is still to be told, oldest first. */
  readonly #untold: (() => void)[] = [];
  #isTelling = false;

  constructor(env: Environment, machine: Holder, terms: Terms) {
    this.#env = env;
    this.#machine = machine;
    this.#terms = terms;
  }

  /** Sends the first attempt. The promise is of the lease. */
  start(): Promise<Lease> {
    this.#env.open?.add(this);
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
    const { clock } = this.#env;
    return this.#machine?.isOverdue(clock.monotonic(), clock.wall()) ?? false;
  }

  get key(): string {
    return this.#terms.key;
  }

  get holder(): string {
    return this.#terms.holder;
  }

  get fence(): bigint {
    return this.#grant?.fence ?? 0n;
  }

  get slot(): number {
    return this.#grant?.slot ?? 0;
  }

  get wanted(): number {
    return this.#wanted;
  }

  /** The leases of the grant that are not given back. */
  get leases(): readonly Lease[] {
    return [...this.#leases];
  }

  /** Whether the grant can be shared by whoever asks like this. */
  isSharedBy({ key, holder, limit }: Terms): boolean {
    const own = this.#terms;
    const isAlike = own.key === key && own.holder === holder && own.limit === limit;
    return isAlike && own.reentrant === true && this.isTrusted;
  }

  /** Another lease of the grant. */
  share(): Lease {
    const lease = Lease.open(this);
    this.#leases.add(lease);
    return lease;
  }

  /** Gives a lease of the grant back, unless it is the last. */
  unshare(lease: Lease): boolean {
    return this.#leases.size > 1 && this.#leases.delete(lease);
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
    const { clock } = this.#env;
    return this.#machine?.remainingMs(clock.monotonic(), clock.wall()) ?? 0;
  }

  /** The reason why the lease is not held, or nothing while it is. */
  notHeld(): LeaseError | undefined {
    return this.isHeld ? undefined : (this.#loss ?? this.lost(this.#state));
  }

  /** The error for a lease that has ended. */
  lost(reason: string): LeaseError {
    return toLeaseError({ code: "LOST", reason }, { key: this.key, fence: this.fence });
  }

  async renew(ttlMs: number | undefined, limits: CallLimits): Promise<void> {
    this.#terms = { ...this.#terms, ttlMs: ttlMs ?? this.#terms.ttlMs };
    await this.#ask({ operation: "renew", ttlMs }, limits);
  }

  async verify(limits: CallLimits): Promise<void> {
    await this.#ask({ operation: "verify" }, limits);
  }

  /** Without a value, it is deleted. */
  async setEntry(name: string, value: string | undefined, limits: CallLimits): Promise<void> {
    await this.#ask({ operation: "entry", name, value }, limits);
  }

  async finish(result: string, keepMs: number, limits: CallLimits): Promise<void> {
    this.#assertUnshared();
    await this.#ask({ operation: "finish", result, keepMs }, limits);
  }

  /** What comes of it when nobody waits any more is taken back. */
  async transfer(
    toHolder: string,
    limits: CallLimits,
    ttlMs = this.#terms.ttlMs,
  ): Promise<LeaseHandle> {
    this.#assertUnshared();
    let transferred: Promise<LeaseHandle> | undefined;
    const transfer = async () => {
      const done = await this.#settled({ operation: "transfer", toHolder, ttlMs });
      const { holder = "", lease: id = "", fence = "" } = done;
      return this.#handleOf({ holder, id, fence, ttlMs });
    };
    try {
      return await this.#within(limits, () => {
        transferred = transfer();
        return transferred;
      });
    } catch (error) {
      transferred?.then(this.#env.takeBack, () => {});
      throw error;
    }
  }

  detach(): LeaseHandle {
    this.#assertUnshared();
    this.#step((machine, monotonic, wall) => machine.detach(monotonic, wall));
    const { holder, ttlMs } = this.#terms;
    return this.#handleOf({
      holder,
      id: this.#grant?.id ?? "",
      fence: String(this.fence),
      ttlMs,
    });
  }

  #handleOf(parts: Omit<LeaseHandle, "v" | "key">): LeaseHandle {
    return { v: 1, key: this.key, ...parts };
  }

  /** What would end the lease for others is refused. */
  #assertUnshared(): void {
    if (this.#leases.size > 1) {
      const message = "Others share it by re-entry: release their leases first.";
      throw this.#error({ code: "INVALID", reason: "reentered", message });
    }
  }

  release(): Promise<ReleaseResult> {
    this.#release ??= this.#giveBack();
    return this.#release;
  }

  async #giveBack(): Promise<ReleaseResult> {
    try {
      const { released = false, reason } = await this.#settled({ operation: "release" });
      return reason === undefined ? { released } : { released, reason };
    } catch (error) {
      return { released: false, reason: String((error as LeaseError).reason) };
    }
  }

  /** How the release ended, as far as its caller waits for that. */
  async confirmed(release: Promise<ReleaseResult>, limits: CallLimits): Promise<ReleaseResult> {
    // A release never rejects, so that what does is the caller's own end of the waiting.
    return await this.#within(limits, () => release).catch(() => UNCONFIRMED);
  }

  /** Has the machine do something; its outcome, as far as the caller waits for that. */
  async #ask(asked: Asked, limits: CallLimits): Promise<Settled> {
    return await this.#within(limits, () => this.#settled(asked));
  }

  #within<T>(limits: CallLimits, begin: () => Promise<T>): Promise<T> {
    return limited(begin, limits, this.#env.clock, () => {
      throw this.#error({ code: "UNAVAILABLE", reason: "no-answer" });
    });
  }

  /** Has the machine do something, and waits until it is settled. */
  #settled(asked: Asked): Promise<Settled> {
    const { promise, resolve, reject } = deferred<Settled>();
    if (this.#machine === undefined) {
      reject(this.#loss ?? this.lost(this.#state));
      return promise;
    }
    this.#tickets += 1;
    const ticket = this.#tickets;
    this.#asked.set(ticket, { resolve, reject });
    try {
      const text = JSON.stringify(asked);
      this.#step((machine, monotonic, wall) => machine.ask(monotonic, wall, ticket, text));
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
  #run(machine: Holder, input: Input): Outputs {
    const { clock } = this.#env;
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
      const end: OutputEvent = isNew ? { type: "failed", ...BROKEN } : { type: "lost", reason };
      const settled = [...this.#asked.keys()].map(
        (ticket): OutputEvent => ({ type: "settled", ticket, ...BROKEN }),
      );
      const drops = [...this.#attempts.keys()];
      const events = [end, ...settled, { type: "closed" } as const];
      return { state: isNew ? "failed" : "lost", sends: [], drops, events };
    }
  }

  #apply({ state, sends, drops, events, wakeInMs }: Outputs): void {
    this.#become(state);
    const lost = events.find((event) => event.type === "lost");
    if (lost !== undefined) {
      this.#loss = this.lost(lost.reason);
    }
    for (const event of events) {
      this.#take(event);
    }
    this.#arm(wakeInMs);
    this.#keepAlive();
    // From here on code of others runs.
    if (lost !== undefined) {
      callListener(() => this.#ending.abort(this.#loss));
    }
    for (const attempt of drops) {
      this.#drop(attempt);
    }
    for (const send of sends) {
      this.#send(send);
    }
    this.#tellAll();
  }

  #become(state: OutputState): void {
    this.#state = state;
    if (state === "held" || state === "detached") {
      this.#env.held.add(this);
    } else {
      this.#env.held.delete(this);
    }
  }

  #take(event: OutputEvent): void {
    const { key } = this;
    switch (event.type) {
      case "granted": {
        const { lease: id, fence, slot, wanted, remainingMs } = event;
        this.#wanted = wanted;
        this.#grant = { id, fence: BigInt(fence), slot };
        const lease = this.share();
        this.#granted.resolve(lease);
        this.#say({ type: "granted", key, lease, remainingMs });
        break;
      }
      case "failed":
        if (event.code !== "ABORTED") {
          const error = this.#refusal(event as Failure & Refusal);
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
        const notice = () => new LeaseNotice(type, remainingMs);
        this.#notify(notice, (lease) => ({ type, key, lease, remainingMs }));
        break;
      }
      case "wanted": {
        const { type, waiters } = event;
        this.#wanted = waiters;
        const notice = () => new LeaseNotice(type, this.remainingMs());
        this.#notify(notice, (lease) => ({ type, key, lease, waiters }));
        break;
      }
      case "renewfailed": {
        const { type, remainingMs } = event;
        const error = this.#error(event);
        const notice = () => new LeaseNotice(type, remainingMs, error);
        this.#notify(notice, (lease) => ({ type, key, lease, remainingMs, error }));
        break;
      }
      case "lost": {
        const { type } = event;
        const error = this.#loss ?? this.lost(event.reason);
        const notice = () => new LeaseNotice(type, 0, error);
        this.#notify(notice, (lease) => ({ type, key, lease, error }));
        break;
      }
      case "released":
      case "finished": {
        const { type } = event;
        this.#notify(undefined, (lease) => ({ type, key, lease }));
        break;
      }
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
        this.#env.open?.delete(this);
        this.#closed.resolve();
        break;
    }
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

  /** Why there is no lease. */
  #refusal(failure: Failure & Refusal): LeaseError {
    const { fence, ageMs = 0, result = "null" } = failure;
    if (failure.code === "DONE" && fence !== undefined) {
      return done(this.key, { fence, ageMs, result });
    }
    const isHeld = failure.code === "HELD" || failure.code === "TIMEOUT";
    const isOwn = ({ key, isTrusted }: Session) => key === this.key && isTrusted;
    return this.#error(
      isHeld && [...this.#env.held].some(isOwn) ? { ...failure, reason: "own-lease" } : failure,
    );
  }

  #error(failure: Failure): LeaseError {
    if (failure.code === "LOST" && this.#loss !== undefined) {
      return this.#loss;
    }
    const verdict = this.#unanswered?.verdict;
    const isCause = failure.code === "UNAVAILABLE" || failure.reason === verdict?.reason;
    const cause = isCause ? this.#unanswered : undefined;
    return toLeaseError(failure, { key: this.key, fence: this.#grant?.fence, cause });
  }

  #arm(ms: number | undefined): void {
    const { clock, keepProcessAlive } = this.#env;
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
  #keepAlive(): void {
    const isOver =
      this.#state !== "acquiring" && this.#state !== "held" && this.#state !== "detached";
    if (isOver && !this.#isKeptAlive && this.#machine !== undefined) {
      this.#isKeptAlive = true;
      this.#env.waitUntil(this.#closed.promise);
    }
  }

  #send({ attempt, request, timeoutMs, rebind }: Send): void {
    const controller = new AbortController();
    this.#attempts.set(attempt, controller);
    const { signal } = controller;
    const resending = () => {
      this.#step((machine, monotonic, wall) => machine.resent(monotonic, wall, attempt));
    };
    const { host, clock } = this.#env;
    ask(host, request, { signal, timeoutMs, rebind, clock, resending }).then(
      (response) => this.#answered(attempt, response),
      (error: BackendError) => this.#failed(attempt, error),
    );
  }

  #drop(attempt: number): void {
    const controller = this.#attempts.get(attempt);
    this.#attempts.delete(attempt);
    callListener(() => controller?.abort());
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
      this.#answered(attempt, JSON.stringify({ v: 1, outcome: "refused", ...verdict, message }));
      return;
    }
    this.#attempts.delete(attempt);
    this.#step((machine, monotonic, wall) =>
      machine.failed(monotonic, wall, attempt, delivery === "never", retryAfterMs),
    );
  }

  #notify(notice: (() => LeaseNotice) | undefined, describe: (lease: Lease) => LeaseEvent): void {
    for (const lease of this.#leases) {
      if (notice !== undefined) {
        this.#untold.push(() => lease.dispatchEvent(notice()));
      }
      this.#say(describe(lease));
    }
  }

  #say(event: LeaseEvent): void {
    this.#untold.push(() => this.#env.tell(event));
  }

  /** Steps taken from within a listener add to the line; the outermost tells. */
  #tellAll(): void {
    if (this.#isTelling) {
      return;
    }
    this.#isTelling = true;
    for (let tell = this.#untold.shift(); tell !== undefined; tell = this.#untold.shift()) {
      callListener(tell);
    }
    this.#isTelling = false;
  }
}

type Input = (machine: Holder, monotonic: number, wall: number) => Outputs;

/** What the machine is asked to do, as a request without what the machine knows. */
interface Asked {
  readonly operation: "entry" | "finish" | "release" | "renew" | "transfer" | "verify";
  readonly ttlMs?: number | undefined;
  readonly toHolder?: string;
  readonly name?: string;
  readonly value?: string | undefined;
  readonly result?: string;
  readonly keepMs?: number;
}

const BROKEN = { code: "UNAVAILABLE", reason: "internal-error" } as const;

const UNCONFIRMED = { released: false, reason: "unconfirmed" } as const;
