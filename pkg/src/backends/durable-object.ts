import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { argument, callback, oneOf, optionsOf, type Table } from "../lease/check.js";
import { BackendError } from "../lease/errors.js";
import { failureOf, mistake } from "../lease/failure.js";
import { NAMESPACE } from "../lease/recognise.js";
import { type Fetch, post } from "./post.js";

/** What this package needs of a Durable Object namespace binding. */
export interface LeaseNamespace {
  // The runtime's types brand ids and stubs, each namespace its own: `any` fits them all.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  idFromName(name: string): any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  get(id: any): any;
}

/** How to use a namespace of `LeaseHost` objects. */
export interface DurableObjectOptions {
  /** Names the object that decides over a key. The key itself by default: one object per key. */
  readonly shard?: (key: string) => string;
  /** `rpc` calls the object's method; `fetch` posts to it, where RPC is not to be had. */
  readonly via?: "rpc" | "fetch";
}

const OPTIONS: Table<DurableObjectOptions> = { shard: callback, via: oneOf("rpc", "fetch") };

/**
 * Lease hosts that are Durable Objects, reached by a binding to their namespace.
 *
 * @param namespace - Such as `env.LEASES`, bound to the class `LeaseHost` of `leasehold/host`.
 * @throws LeaseError `INVALID` for anything else, and for a bad option.
 */
export function durableObject(
  namespace: LeaseNamespace,
  options?: DurableObjectOptions,
): LeaseBackend {
  argument("namespace", NAMESPACE, namespace);
  return new DurableObjects(namespace, optionsOf(OPTIONS, options));
}

interface Stub {
  call?(request: WireRequest): Promise<WireResponse>;
  fetch: Fetch;
}

/** After this long an overloaded object is tried again. */
const OVERLOADED_MS = 1_000;

class DurableObjects implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the object",
  };
  readonly #namespace: LeaseNamespace;
  readonly #shard: (key: string) => string;
  readonly #via: "rpc" | "fetch";

  constructor(namespace: LeaseNamespace, options: DurableObjectOptions) {
    this.#namespace = namespace;
    this.#shard = options.shard ?? ((key) => key);
    this.#via = options.via ?? "rpc";
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    try {
      // A new stub each time, since one that has failed once may fail for ever.
      const id = this.#namespace.idFromName(this.#shard(request.key));
      const stub = this.#namespace.get(id) as Stub;
      if (this.#via === "fetch") {
        const url = `https://lease-host/v1/${request.operation}`;
        return await post((to, init) => stub.fetch(to, init), url, {}, request, options);
      }
      if (typeof stub.call !== "function") {
        throw mistake(NO_RPC, undefined, UNSUITED);
      }
      return await abandoned(stub.call(request), options.signal);
    } catch (error) {
      throw failure(error);
    }
  }
}

/** The answer, or a rejection once it is awaited no more. A signal can't travel by RPC. */
function abandoned<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", leave));
  });
}

const UNSUITED = { code: "INVALID", reason: "unsuited-object" } as const;

const NO_RPC =
  'There is no RPC before the compatibility date 2024-04-03: use a later one, or { via: "fetch" }.';

/** What the runtime says of a binding that leads to something else than lease hosts. */
const MISBOUND: readonly (readonly [RegExp, string])[] = [
  [
    /SQL is not enabled/,
    "The class has no SQLite storage: name it in new_sqlite_classes of a migration, not in new_classes.",
  ],
  [
    /does not support RPC|does not implement the method|does not export a fetch/,
    "The binding leads to another class than LeaseHost of leasehold/host.",
  ],
];

/** The runtime marks the errors of an object that wants to be left alone. */
function failure(error: unknown): BackendError {
  const cause = BackendError.is(error) && error.verdict === undefined ? error.cause : error;
  const message = String(Reflect.get(Object(cause), "message"));
  const misbound = MISBOUND.find(([words]) => words.test(message));
  if (misbound !== undefined) {
    return mistake(misbound[1], cause, UNSUITED);
  }
  if (Reflect.get(Object(cause), "overloaded") === true) {
    return new BackendError("The lease's Durable Object is overloaded.", {
      delivery: "unknown",
      retryAfterMs: OVERLOADED_MS,
      cause,
    });
  }
  return failureOf(error, "The lease's Durable Object");
}
