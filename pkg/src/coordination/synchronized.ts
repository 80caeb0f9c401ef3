/**
 * Functions and methods that run once at a time per input, and their refusals as HTTP responses.
 *
 * @module
 */
import { ACQUIRE, type AcquireOptions } from "../lease/arguments.js";
import { argument, having, optionsOf } from "../lease/check.js";
import type { LeaseClient } from "../lease/client.js";
import { invalid, LeaseError } from "../lease/errors.js";
import type { Lease } from "../lease/lease.js";

/** What a template can take in: a text, or a whole number. */
export type NamePart = string | number | bigint;

/**
 * How an input names its lease: by a template such as `order:{id}`, whose places are properties of
 * the input, or `{}` for an input that is itself a text or number; or by a function.
 */
// biome-ignore lint/suspicious/noExplicitAny: whatever the function takes is the input
export type LeaseName = string | ((input: any) => string);

/** What an input has to have for its name. */
export type InputFor<N extends LeaseName> = N extends (input: infer I) => string
  ? I
  : N extends `${string}{}${string}`
    ? NamePart
    : [Places<N>] extends [never]
      ? unknown
      : { readonly [Place in Places<N>]: NamePart };

type Places<N> = N extends `${string}{${infer Place}}${infer Rest}` ? Place | Places<Rest> : never;

/** The arguments of a synchronized function: none if its name takes nothing from them. */
export type InputArguments<I> = unknown extends I ? [input?: I] : [input: I];

/** What is used of a client. */
export type Runner = Pick<LeaseClient, "run">;

/** How the lease is to be had. */
export type SynchronizedOptions = Omit<AcquireOptions, "signal">;

/** A method that gets the lease behind its input; callers leave it out. */
export type SynchronizedMethod<This, I, R> = (this: This, input: I, lease?: Lease) => Promise<R>;

/**
 * A function that runs once at a time for each input, wherever it is called: it takes the lease
 * that the input names, calls `fn` with the input and the lease, and releases it.
 *
 * What a template takes in is percent-encoded, so that different inputs have different names.
 * `waitMs` is 0 unless said otherwise: who comes second is refused at once, with `HELD`.
 *
 * @throws LeaseError `INVALID` if the template is none. The function rejects with what
 * `LeaseClient.run` rejects with, and with `INVALID` if the input doesn't fit the template.
 */
export function synchronized<const N extends LeaseName, I extends InputFor<N>, R>(
  leases: Runner,
  name: N,
  fn: (input: I, lease: Lease) => R | Promise<R>,
  options?: SynchronizedOptions,
): (...input: InputArguments<I>) => Promise<R>;
/**
 * The same as a standard decorator, for a method that takes one input and gets the lease as its
 * second argument. The client may be found from the instance:
 * `@synchronized((shop: Shop) => shop.leases, "order:{id}")`.
 */
export function synchronized<This, const N extends LeaseName>(
  leases: Runner | ((self: This) => Runner),
  name: N,
  options?: SynchronizedOptions,
): <I extends InputFor<N>, R>(
  method: SynchronizedMethod<This, I, R>,
  context: ClassMethodDecoratorContext<This, SynchronizedMethod<This, I, R>>,
) => SynchronizedMethod<This, I, R>;
export function synchronized(
  leases: Runner | ((self: unknown) => Runner),
  name: LeaseName,
  ...rest: unknown[]
): unknown {
  if (typeof leases !== "function") argument("leases", RUNNER, leases);
  const nameOf = typeof name === "function" ? name : template(name);
  const [fn, options] = (typeof rest[0] === "function" ? rest : [undefined, rest[0]]) as [
    Work | undefined,
    SynchronizedOptions | undefined,
  ];
  const settings = { waitMs: 0, ...optionsOf<SynchronizedOptions>(OPTIONS, options) };
  const once = async (self: unknown, input: unknown, work: Work) => {
    const client = typeof leases === "function" ? argument("leases", RUNNER, leases(self)) : leases;
    const run = (lease: Lease) => work.call(self, input, lease);
    return await client.run(nameOf(input), settings, run);
  };
  return fn === undefined
    ? (method: Work) =>
        function (this: unknown, input: unknown) {
          return once(this, input, method);
        }
    : (input: unknown) => once(undefined, input, fn);
}

const { signal: _, ...OPTIONS } = ACQUIRE;
const RUNNER = having("a LeaseClient", "run");

type Work = (input: unknown, lease: Lease) => unknown;

const PLACE = /\{([A-Za-z_$][\w$]*)?\}/g;

/** The name that a template gives an input. */
function template(text: string): (input: unknown) => string {
  if (typeof text !== "string" || text === "" || /[{}]/.test(text.replace(PLACE, ""))) {
    throw invalid("name", "must be a function, or a template such as order:{id}");
  }
  return (input) =>
    text.replace(PLACE, (_, place?: string) => {
      const value = place === undefined ? input : (input as Record<string, unknown>)?.[place];
      if (!isPart(value)) {
        const what = place === undefined ? "input" : `input.${place}`;
        throw invalid(what, `must be a text or a whole number: the template is ${text}`);
      }
      return encodeURIComponent(String(value));
    });
}

function isPart(value: unknown): value is NamePart {
  return (
    (typeof value === "string" && value !== "" && value.isWellFormed()) ||
    typeof value === "bigint" ||
    Number.isSafeInteger(value)
  );
}

const SECOND_MS = 1_000;

/** By code, what a web server answers. */
const STATUS: Readonly<Record<string, number>> = {
  HELD: 409,
  TIMEOUT: 409,
  DONE: 409,
  UNAVAILABLE: 503,
};

/**
 * The response to a request that could not be served for want of a lease: 409 if another is at it
 * or has done it, 503 if the host could not be asked; with `Retry-After`, and code and reason as
 * JSON. No key and no holder.
 *
 * @throws `error` itself if it is anything else: a lost lease, a bad argument, a refused token and
 * what other code threw are no answer to the client but faults to look at.
 */
export function toResponse(error: unknown): Response {
  const status = LeaseError.is(error) ? STATUS[error.code] : undefined;
  if (status === undefined) {
    throw error;
  }
  const { code, reason, retryAfterMs = 0 } = error as LeaseError;
  const seconds = Math.max(Math.ceil(retryAfterMs / SECOND_MS), 1);
  const headers = { "retry-after": String(seconds), "cache-control": "no-store" };
  return Response.json({ code, reason }, { status, headers });
}
