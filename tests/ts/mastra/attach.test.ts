import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LeaseClient } from "leasehold";
import { attachLease, leaseProvider } from "leasehold/mastra";
import { memory } from "leasehold/memory";
import { leaseError } from "../support/bench.ts";

const secret = "a secret that all of them share";
const leases = new LeaseClient(memory());

describe("Mastra's lease provider", () => {
  test("is attached to a PubSub in both ways that Mastra looks for one", async () => {
    class PubSub {
      getLeaseOwner(): string {
        return "the PubSub's own";
      }
      publish(): string {
        return "published";
      }
    }
    const pubsub = new PubSub();
    const provider = leaseProvider(leases, { secret });
    const attached = attachLease(pubsub, provider);
    assert.equal(attached, pubsub);
    assert.equal(attached.getLeaseProvider(), provider);
    assert.equal(attached.publish(), "published");
    const { acquireLease } = attached; // Mastra calls them on proxies of the PubSub.
    assert.deepEqual(await acquireLease("k", "a", 5_000), { acquired: true, owner: "a" });
    assert.equal(await attached.getLeaseOwner("k"), "a");
    assert.deepEqual(Object.keys(provider).sort(), [
      "acquireLease",
      "getLeaseOwner",
      "releaseLease",
      "renewLease",
      "transferLease",
    ]);
  });

  test("bad arguments are told at the call", () => {
    const provider = leaseProvider(leases, { secret });
    for (const [bad, reason] of [
      [{}, "secret"],
      [{ secret: "short" }, "secret"],
      [{ secret, prefix: "" }, "prefix"],
      [{ secret, timeoutMs: 0 }, "timeoutMs"],
      [{ secret, ttlMs: 5_000 }, "ttlMs"],
    ] as const) {
      assert.throws(() => leaseProvider(leases, bad as never), leaseError("INVALID", { reason }));
    }
    for (const none of [undefined, {}, memory()]) {
      assert.throws(
        () => leaseProvider(none as never, { secret }),
        leaseError("INVALID", { reason: "leases" }),
      );
    }
    for (const none of [undefined, null, {}, { ...provider, renewLease: 1 }]) {
      assert.throws(
        () => attachLease({}, none as never),
        leaseError("INVALID", { reason: "provider" }),
      );
    }
    for (const none of [undefined, null, "text", Object.freeze({})]) {
      assert.throws(
        () => attachLease(none as never, provider),
        leaseError("INVALID", { reason: "pubsub" }),
      );
    }
  });
});
