import { LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";
import { LockManager } from "leasehold/web-locks";
import { suite } from "./suite.ts";

suite("memory", async () => {
  const host = memory();
  const manager = () => new LockManager(new LeaseClient(host), { ttlMs: 1_000 });
  return { one: manager(), other: manager() };
});
