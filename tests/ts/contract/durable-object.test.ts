import type { LeaseBackend, WireResponse } from "leasehold";
import { http } from "leasehold/http";
import { Workers } from "../workerd/harness.ts";
import { contract } from "./suite.ts";

const TOKEN = "a-token-for-the-contract-tests";

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
  }, []);
}

contract("Durable Object over HTTPS", async () => {
  const workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN },
  });
  const url = await workers.url();
  return { carrier: () => http({ url, token: TOKEN }), close: () => workers.stop() };
}, []);
