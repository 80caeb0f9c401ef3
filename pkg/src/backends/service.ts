import type {
  CallOptions,
  Capabilities,
  LeaseBackend,
  WireRequest,
  WireResponse,
} from "../lease/backend.js";
import { abandoned, failure } from "./rpc.js";

/** What this package needs of a service binding. */
export interface LeaseService {
  /** What the stand-alone host answers by RPC; the runtime's own types know no methods. */
  // biome-ignore lint/suspicious/noExplicitAny: see above
  readonly call?: any;
}

/**
 * A lease host that was deployed by itself, reached by a service binding: no URL, no token, no way
 * through the internet.
 *
 * @param binding - Such as `env.LEASES`, bound to the Worker `leasehold/worker`.
 */
export function service(binding: LeaseService): LeaseBackend {
  return new Service(binding);
}

class Service implements LeaseBackend {
  readonly capabilities: Capabilities = {
    exclusive: "clock-bound",
    fencing: "durable",
    waiting: "push",
    survives: "eviction, restart and deploy of the host",
  };
  readonly #binding: LeaseService;

  constructor(binding: LeaseService) {
    this.#binding = binding;
  }

  async call(request: WireRequest, { signal }: CallOptions): Promise<WireResponse> {
    try {
      return await abandoned<WireResponse>(this.#binding.call(request), signal);
    } catch (error) {
      throw failure(error);
    }
  }
}
