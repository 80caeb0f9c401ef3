import { LeaseClient } from "leasehold";
import { LockManager } from "leasehold/web-locks";
import { HOSTS } from "../support/hosts.ts";
import { suite } from "./suite.ts";

/** Renewed, and so found broken, several times a second. */
const ttlMs = 1_000;

for (const [name, start] of Object.entries(HOSTS)) {
  suite(name, async () => {
    const host = await start();
    const manager = () => new LockManager(new LeaseClient(host.carrier()), { ttlMs });
    return { one: manager(), other: manager(), close: () => host.close() };
  });
}
