import { jurisdictionOf, objectName } from "#client-wasm";
import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { argument, oneOf, optionsOf, type Table, text } from "../lease/check.js";
import { invalid } from "../lease/errors.js";
import { mistake } from "../lease/failure.js";
import { NAMESPACE } from "../lease/recognise.js";
import { type Fetch, post } from "./post.js";
import { type LeaseNamespace, Router } from "./routing.js";
import { answered, failure, UNSUITED } from "./rpc.js";

export type { LeaseNamespace } from "./routing.js";

/** How to use a namespace of `LeaseHost` objects. */
export interface DurableObjectOptions {
  /** `rpc` calls the object's method; `fetch` posts to it, where RPC is not to be had. */
  readonly via?: "rpc" | "fetch";
  /** Where objects that don't exist yet are to be made, such as `weur`. The runtime's to follow. */
  readonly locationHint?: string;
  /** What `LEASEHOLD_JURISDICTION` says where the class is deployed, such as `eu`. */
  readonly jurisdiction?: string;
}

const OPTIONS: Table<DurableObjectOptions> = {
  via: oneOf("rpc", "fetch"),
  locationHint: text(32),
  jurisdiction: text(32),
};

/**
 * Lease hosts that are Durable Objects, reached by a binding to their namespace. Whether each key has
 * an object of its own or a number of them share the keys is the setting of the Worker that exports
 * the class: the objects tell it.
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

class DurableObjects implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the object",
  };
  readonly #router: Router<Stub>;
  readonly #via: "rpc" | "fetch";

  constructor(namespace: LeaseNamespace, options: DurableObjectOptions) {
    const { via = "rpc", locationHint, jurisdiction } = options;
    const first = jurisdiction === undefined ? "key" : `${jurisdiction}/key`;
    if (objectName(first, "") === undefined) {
      throw invalid("jurisdiction", "must be a jurisdiction's name, such as eu");
    }
    this.#router = new Router(namespace, { objectName, jurisdictionOf }, first, locationHint);
    this.#via = via;
  }

  async call(request: WireRequest, options: CallOptions): Promise<WireResponse> {
    try {
      return await this.#router.ask(request.key, (stub) => this.#send(stub, request, options));
    } catch (error) {
      throw failure(error, "The lease's Durable Object", MISBOUND);
    }
  }

  #send(stub: Stub, request: WireRequest, options: CallOptions): Promise<WireResponse> {
    if (this.#via === "fetch") {
      const url = `https://lease-host/v1/${request.operation}`;
      return post((to, init) => stub.fetch(to, init), url, {}, request, options);
    }
    if (typeof stub.call !== "function") {
      throw mistake(NO_RPC, undefined, UNSUITED);
    }
    return answered(stub.call(request), options.signal);
  }
}

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
