import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { argument } from "../lease/check.js";
import { SERVICE } from "../lease/recognise.js";
import { answered, failure } from "./rpc.js";

/** What this package needs of a service binding. */
export interface LeaseService {
  /** What the stand-alone host answers by RPC; the runtime's own types know no methods. */
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly call?: any;
  // biome-ignore lint/suspicious/noExplicitAny: each version of the runtime's types has another
  readonly fetch: any;
}

/**
 * A lease host that was deployed by itself, reached by a service binding: no URL, no token, no way
 * through the internet.
 *
 * @param binding - Such as `env.LEASES`, bound to the Worker of `leasehold/worker`.
 * @throws LeaseError `INVALID` for anything else.
 */
export function service(binding: LeaseService): LeaseBackend {
  argument("binding", SERVICE, binding);
  return new Service(binding);
}

class Service implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the host",
    list: true,
  };
  readonly #binding: LeaseService;

  constructor(binding: LeaseService) {
    this.#binding = binding;
  }

  async call(request: WireRequest, { signal }: CallOptions): Promise<WireResponse> {
    try {
      return await answered<WireResponse>(this.#binding.call(request), signal);
    } catch (error) {
      throw failure(error, "The lease host's Worker", MISBOUND);
    }
  }
}

/** What the runtime says of a binding that leads to something else than a lease host. */
const MISBOUND = [
  [
    /does not support RPC|does not implement the method/,
    "The binding leads to another Worker than that of leasehold/worker.",
  ],
] as const;
