import type { Holder } from "#client-wasm";
import { Announcements } from "./announcements.js";
import { callListener } from "./call-listener.js";
import { deferred } from "./deferred.js";
import { type Asked, Driver, type DriverEnvironment } from "./driver.js";
import { type Failure, type LeaseError, toLeaseError } from "./errors.js";
import type { LeaseEvent } from "./events.js";
import type { LeaseHandle } from "./handle.js";
import { Lease } from "./lease.js";
import type { OutputEvent, OutputState, Refusal, Settled } from "./outputs.js";
import { randomId } from "./random-id.js";
import { done } from "./run-once.js";
import type { LeaseState, ReleaseResult } from "./state.js";
import { type CallLimits, limited } from "./waiting.js";

/** What all sessions of a client share. */
export interface Environment extends DriverEnvironment {
  /** Sessions with a lease that is held, or detached and not over. */
  readonly held: Set<Session>;
  /** Sessions with something under way, or a lease; nothing where leases belong to requests. */
  readonly open: Set<Session> | undefined;
  /** Keeps the invocation alive until the promise settles. */
  waitUntil(promise: Promise<unknown>): void;
  /** Frees a lease that was handed over for nobody. Never rejects. */
  takeBack(handle: LeaseHandle): Promise<ReleaseResult>;
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
  readonly maxHoldMs?: number | undefined;
  readonly renew?: "auto" | "manual";
}

/**
 * One grant, from the first attempt to its end: its leases, the promises and the listeners that are
 * told of it.
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
  readonly #driver: Driver;
  readonly #ending = new AbortController();
  readonly #closed = deferred<void>();
  #isKeptAlive = false;

  readonly #granted = deferred<Lease>();
  #release: Promise<ReleaseResult> | undefined;
  /** How what was handed over for nobody was taken back; nothing if the host refused to hand it over. */
  #takenBack: Promise<ReleaseResult | undefined> | undefined;

  readonly #announcements: Announcements;

  constructor(env: Environment, machine: Holder, terms: Terms) {
    this.#env = env;
    this.#terms = terms;
    this.#announcements = new Announcements(env.tell);
    this.#driver = new Driver(machine, env, {
      take: (state, events) => this.#take(state, events),
      warn: () => this.#loss && callListener(() => this.#ending.abort(this.#loss)),
      tell: () => this.#announcements.tellAll(),
      error: (failure) => this.#error(failure),
    });
  }

  /** Sends the first attempt. The promise is of the lease. Throws if the machine's settings are bad. */
  start(): Promise<Lease> {
    if (!this.#driver.isClosed) {
      this.#env.open?.add(this);
      try {
        this.#driver.step("start");
      } catch (error) {
        this.#env.open?.delete(this);
        throw error;
      }
    }
    return this.#granted.promise;
  }

  /** Stops waiting for the grant; what the host gave meanwhile is taken back. */
  cancel(reason: unknown): void {
    if (this.#state === "acquiring") {
      this.#granted.reject(reason);
      this.#announcements.add({ type: "failed", key: this.key, error: reason });
      this.#driver.step("cancel");
    }
  }

  /** Whether there is a lease that a client which closes has to give back, or is giving back. */
  get hasToRelease(): boolean {
    const isGoing = this.#state === "releasing" || this.#state === "transferred";
    return this.#state === "held" || isGoing;
  }

  /** Stops waiting, or gives the lease back unless it is detached; waits until all is through. */
  async close(reason: unknown): Promise<ReleaseResult> {
    this.cancel(reason);
    if (this.#state === "detached") {
      return { released: false, reason: "detached" };
    }
    const result = await this.release();
    await this.#closed.promise;
    return (await this.#takenBack) ?? result;
  }

  /** Looks at the clock: a lease whose term is over is lost from here on. */
  look(): void {
    if (this.isOverdue) {
      this.#driver.step("wake");
    }
  }

  /** Whether the lease is held, not detached, and its term not over. Changes nothing. */
  get isTrusted(): boolean {
    return this.#state === "held" && !this.isOverdue;
  }

  /** Whether the term is over without anybody having looked. Changes nothing. */
  get isOverdue(): boolean {
    return this.#driver.isOverdue;
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

  /** The terms that whoever asks would have it on, and the grant is not. */
  differsIn(terms: Partial<Terms>): string | undefined {
    const names = ["ttlMs", "maxHoldMs", "renew"] as const;
    return names.find((name) => (terms[name] ?? this.#terms[name]) !== this.#terms[name]);
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
    return this.state === "held";
  }

  remainingMs(): number {
    this.look();
    return this.#driver.remainingMs();
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
      const done = await this.#settled({
        operation: "transfer",
        ...{ toHolder, toLease: randomId(), ttlMs },
      });
      const { holder = "", lease: id = "", fence = "" } = done;
      return this.#handleOf({ holder, id, fence, ttlMs });
    };
    try {
      return await this.#within(limits, () => {
        transferred = transfer();
        return transferred;
      });
    } catch (error) {
      this.#takenBack = transferred?.then(this.#env.takeBack, () => undefined);
      throw error;
    }
  }

  detach(): LeaseHandle {
    this.#assertUnshared();
    this.#driver.step("detach");
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
      const cause = error as LeaseError;
      const ended = { released: false, reason: String(cause.reason) };
      return cause.code === "LOST" ? ended : { ...ended, cause };
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
  async #settled(asked: Asked): Promise<Settled> {
    if (this.#driver.isClosed) {
      throw this.#loss ?? this.lost(this.#state);
    }
    return await this.#driver.ask(asked);
  }

  #take(state: OutputState, events: readonly OutputEvent[]): void {
    this.#become(state);
    for (const event of events) {
      if (event.type === "lost") this.#loss = this.lost(event.reason);
    }
    for (const event of events) {
      this.#hear(event);
    }
    this.#keepAlive();
  }

  #become(state: OutputState): void {
    this.#state = state;
    if (state === "held" || state === "detached") {
      this.#env.held.add(this);
    } else {
      this.#env.held.delete(this);
    }
  }

  #hear(event: OutputEvent): void {
    const { key } = this;
    const announce = this.#announcements;
    switch (event.type) {
      case "granted": {
        const { lease: id, fence, slot, wanted, remainingMs } = event;
        this.#grant = { id, fence: BigInt(fence), slot };
        this.#wanted = wanted;
        const lease = this.share();
        this.#granted.resolve(lease);
        announce.add({ type: "granted", key, lease, remainingMs });
        break;
      }
      case "failed":
        if (event.code !== "ABORTED") {
          const error = this.#refusal(event as Failure & Refusal);
          this.#granted.reject(error);
          announce.add({ type: "failed", key, error });
        }
        break;
      case "queued":
        announce.add({ type: "queued", key, ahead: event.ahead });
        break;
      case "wanted":
        this.#wanted = event.waiters;
        announce.addFor(this.#leases, { ...event, key, remainingMs: this.remainingMs() });
        break;
      case "renewed":
      case "jeopardy":
      case "safe":
      case "released":
      case "finished":
        announce.addFor(this.#leases, { ...event, key });
        break;
      case "renewfailed": {
        const { type, remainingMs } = event;
        announce.addFor(this.#leases, { type, key, remainingMs, error: this.#error(event) });
        break;
      }
      case "lost": {
        const { type, reason } = event;
        announce.addFor(this.#leases, { type, key, error: this.#loss ?? this.lost(reason) });
        break;
      }
      case "releasefailed": {
        const { type, reason } = event;
        const code = reason === "unconfirmed" ? "UNAVAILABLE" : "LOST";
        announce.addFor(this.#leases, { type, key, error: this.#error({ code, reason }) });
        break;
      }
      case "settled":
      case "transferred":
        break;
      case "closed":
        this.#closed.resolve();
        void this.#leave();
        break;
    }
  }

  async #leave(): Promise<void> {
    await this.#takenBack;
    this.#env.open?.delete(this);
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
    const verdict = this.#driver.failure?.verdict;
    const isCause = failure.code === "UNAVAILABLE" || failure.reason === verdict?.reason;
    const cause = isCause ? this.#driver.failure : undefined;
    return toLeaseError(failure, { key: this.key, fence: this.#grant?.fence, cause });
  }

  /** Has the invocation wait for what goes on after the lease, or the wait for it, has ended. */
  #keepAlive(): void {
    const isOver =
      this.#state !== "acquiring" && this.#state !== "held" && this.#state !== "detached";
    if (isOver && !this.#isKeptAlive && !this.#driver.isClosed) {
      this.#isKeptAlive = true;
      this.#env.waitUntil(this.#closed.promise);
    }
  }
}

const UNCONFIRMED = { released: false, reason: "unconfirmed" } as const;
