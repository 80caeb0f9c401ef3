import type { LeaseBackend, WireResponse } from "leasehold";
import { durableObjectHost } from "../support/hosts.ts";
import { Workers } from "../workerd/harness.ts";
import { contract } from "./suite.ts";

for (const via of ["rpc", "fetch"]) {
  contract(`Durable Object by ${via}`, async () => {
    const workers = await Workers.start({
      name: "relay",
      entry: new URL("./relay-worker.ts", import.meta.url),
      durableObjects: { LEASES: "LeaseHost" },
      flags: ["enable_request_signal"],
    });
    const url = new URL(`/${via}`, await workers.url());
    const relayed: LeaseBackend = {
      capabilities: {
        exclusive: "clock-bound",
        fencing: "durable",
        waiting: "push",
        survives: "the runtime",
      },
      async call(request, { signal }) {
        // JSON has no NaN: it arrives as null, which no host takes for a number either.
        const response = await fetch(url, {
          method: "POST",
          body: JSON.stringify(request),
          signal,
        });
        return (await response.json()) as WireResponse;
      },
    };
    return { carrier: () => relayed, close: () => workers.stop() };
  });
}

contract("Durable Object over HTTPS", durableObjectHost);
