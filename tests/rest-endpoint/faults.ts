import type { RequestRecord } from "./log.ts";

/** `after: true` means the commands run first and only the answer is replaced. */
export type Fault =
  /** Cut the connection; nothing is executed. */
  | { readonly kind: "drop-before" }
  /** Execute, then cut the connection without an answer. */
  | { readonly kind: "drop-after" }
  | { readonly kind: "delay-before"; readonly ms: number }
  | { readonly kind: "delay-after"; readonly ms: number }
  /** Execute twice, answer the second run. */
  | { readonly kind: "duplicate" }
  /** Execute, send `bytes` of the body (default half). Unless `complete`, the cut shows as a broken connection. */
  | { readonly kind: "truncate"; readonly bytes?: number; readonly complete?: boolean }
  /** Never answer. */
  | { readonly kind: "hang"; readonly after?: boolean }
  | {
      readonly kind: "status";
      readonly status: number;
      readonly body: "json" | "text" | "html";
      readonly after?: boolean;
    }
  /** 204 with no body. */
  | { readonly kind: "empty"; readonly after?: boolean }
  /** SCRIPT FLUSH right before each EVALSHA of the request. */
  | { readonly kind: "script-flush" }
  | { readonly kind: "quota"; readonly limit: "daily" | "requests"; readonly status?: number }
  /** Writes and scripts are refused, reads go on. */
  | { readonly kind: "read-only-replica" }
  /** Every command of the request is answered with this error, unexecuted. */
  | { readonly kind: "reply-error"; readonly error: string };

export type FaultKind =
  | Fault["kind"]
  | "eviction"
  | "failover"
  | "stream-close"
  | "stream-mute"
  | "throttle";

/** Which requests a rule meets; conditions add up. */
export interface FaultMatch {
  /** Some command of the request has one of these names, any case. */
  readonly command?: string | readonly string[];
  readonly where?: (request: RequestRecord) => boolean;
  /** Let this many matching requests pass first. Default 0. */
  readonly skip?: number;
  /** Fire at most so often. Default 1, or without bound when `probability` is given. */
  readonly times?: number;
  /** Chance per matching request, from the endpoint's seed. */
  readonly probability?: number;
}

export interface FaultRule {
  /** How often it fired. */
  readonly fired: number;
  remove(): void;
}

type Terminal = Exclude<
  Fault,
  { kind: "delay-before" | "delay-after" | "duplicate" | "script-flush" | "read-only-replica" }
>;

/** Whether a request that meets this fault is executed all the same. */
export function executes(fault: Terminal): boolean {
  if ("after" in fault) return fault.after ?? false;
  return fault.kind === "drop-after" || fault.kind === "truncate" || fault.kind === "reply-error";
}

/** What is to be done to one request. */
export interface FaultPlan {
  readonly delayBefore: number;
  readonly delayAfter: number;
  readonly duplicate: boolean;
  readonly scriptFlush: boolean;
  readonly readOnlyReplica: boolean;
  readonly terminal: Terminal | undefined;
}

const ON_STREAMS = new Set<FaultKind>([
  "drop-before",
  "delay-before",
  "hang",
  "status",
  "empty",
  "quota",
]);

class Rule implements FaultRule {
  readonly fault: Fault;
  readonly #match: FaultMatch;
  readonly #commands: ReadonlySet<string> | undefined;
  readonly #rules: Set<Rule>;
  #seen = 0;
  #fired = 0;

  constructor(fault: Fault, match: FaultMatch, rules: Set<Rule>) {
    this.fault = fault;
    this.#match = match;
    this.#commands = commandsOf(fault, match);
    this.#rules = rules;
  }

  get fired(): number {
    return this.#fired;
  }

  remove(): void {
    this.#rules.delete(this);
  }

  fires(request: RequestRecord, random: () => number): boolean {
    const { where, skip = 0, probability = 1 } = this.#match;
    const times = this.#match.times ?? (this.#match.probability === undefined ? 1 : Infinity);
    if (this.#fired >= times || !this.#concerns(request) || where?.(request) === false)
      return false;
    this.#seen += 1;
    if (this.#seen <= skip || random() >= probability) return false;
    this.#fired += 1;
    return true;
  }

  #concerns(request: RequestRecord): boolean {
    if (request.shape === "stream" && !ON_STREAMS.has(this.fault.kind)) return false;
    const names = this.#commands;
    if (!names) return true;
    return request.commands.some((command) => names.has(command[0]?.toLowerCase() ?? ""));
  }
}

function commandsOf(fault: Fault, match: FaultMatch): ReadonlySet<string> | undefined {
  if (match.command !== undefined) {
    return new Set([match.command].flat().map((name) => name.toLowerCase()));
  }
  return fault.kind === "script-flush" ? new Set(["evalsha", "evalsha_ro"]) : undefined;
}

export class Faults {
  readonly #random: () => number;
  readonly #rules = new Set<Rule>();
  readonly #counts = new Map<FaultKind, number>();

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Rules apply in the order they were added; one request meets several until one ends it. */
  add(fault: Fault, match: FaultMatch = {}): FaultRule {
    const rule = new Rule(fault, match, this.#rules);
    this.#rules.add(rule);
    return rule;
  }

  /** Removes all rules; the counts stay. */
  clear(): void {
    this.#rules.clear();
  }

  /** How often faults of this kind happened. */
  count(kind: FaultKind): number {
    return this.#counts.get(kind) ?? 0;
  }

  note(kind: FaultKind, request?: RequestRecord): void {
    this.#counts.set(kind, this.count(kind) + 1);
    request?.faults.push(kind);
  }

  plan(request: RequestRecord): FaultPlan {
    const plan = {
      delayBefore: 0,
      delayAfter: 0,
      duplicate: false,
      scriptFlush: false,
      readOnlyReplica: false,
      terminal: undefined as Terminal | undefined,
    };
    for (const rule of this.#rules) {
      if (plan.terminal) break;
      if (!rule.fires(request, this.#random)) continue;
      this.note(rule.fault.kind, request);
      const { fault } = rule;
      if (fault.kind === "delay-before") plan.delayBefore += fault.ms;
      else if (fault.kind === "delay-after") plan.delayAfter += fault.ms;
      else if (fault.kind === "duplicate") plan.duplicate = true;
      else if (fault.kind === "script-flush") plan.scriptFlush = true;
      else if (fault.kind === "read-only-replica") plan.readOnlyReplica = true;
      else plan.terminal = fault;
    }
    return plan;
  }
}
