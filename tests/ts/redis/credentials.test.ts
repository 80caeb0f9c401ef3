import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import type { WireRequest, WireResponse } from "leasehold";
import { upstash } from "leasehold/upstash";
import type { RestEndpoint } from "../../rest-endpoint/endpoint.ts";
import { eventually, suite } from "../../rest-endpoint/harness.ts";
import { op } from "../contract/wrappers.ts";
import { client, freshKey, LONG } from "./subject.ts";

const redis = suite();

const id = () => randomBytes(16).toString("hex");

type Credential = Pick<WireRequest, "lease" | "fence">;

/** Every operation that needs a credential, with this one. */
function withCredential(key: string, credential: Credential): WireRequest[] {
  const base = { v: 1, key, ...credential } as const;
  return [
    { ...base, operation: "release", op: id() },
    { ...base, operation: "renew", op: id(), ttlMs: LONG },
    { ...base, operation: "verify", op: id() },
    { ...base, operation: "transfer", op: id(), toHolder: "thief", toLease: id(), ttlMs: LONG },
  ];
}

function sender(endpoint: RestEndpoint) {
  const host = upstash({ url: endpoint.url, token: endpoint.token });
  return (request: WireRequest): Promise<WireResponse> => op.send(host, request);
}

describe("Redis credentials", () => {
  test("what does not hold the key opens nothing, and is told so", async () => {
    const endpoint = await redis.endpoint();
    const send = sender(endpoint);
    const key = freshKey();
    const lease = await client(endpoint, { holder: "ada" }).acquire(key, { ttlMs: LONG });
    const fence = String(lease.fence);
    const handle = lease.detach();
    const wrong: Credential[] = [
      { lease: id() },
      { lease: "0".repeat(32) },
      { lease: fence.padStart(32, "0") },
      { lease: handle.id, fence: String(lease.fence + 1n) },
      { lease: handle.id, fence: "0" },
      { fence },
      {},
    ];
    for (const credential of wrong) {
      for (const request of withCredential(key, credential)) {
        const { outcome } = await send(request);
        const text = `${request.operation} with ${JSON.stringify(credential)}`;
        assert.ok(outcome === "not-holder" || outcome === "refused", `${text}: ${outcome}`);
      }
      assert.equal((await client(endpoint).inspect(key))?.holders[0]?.fence, lease.fence);
    }
    assert.deepEqual(await lease.release(), { released: true });
  });

  const endings: readonly (readonly [
    string,
    string,
    (endpoint: RestEndpoint, first: WireRequest) => Promise<unknown>,
  ])[] = [
    ["expired", "expired", (endpoint, { key }) => free(endpoint, key)],
    ["released", "released", (endpoint, first) => sender(endpoint)(op.release(first))],
    ["revoked", "revoked", (endpoint, { key }) => client(endpoint).revoke(key)],
    ["cancelled", "cancelled", (endpoint, first) => sender(endpoint)(op.cancel(first))],
  ];
  for (const [name, reason, end] of endings) {
    test(`a lease that is ${name} opens nothing any more, before and after the next grant`, async () => {
      const endpoint = await redis.endpoint();
      const send = sender(endpoint);
      const first = { ...op.acquire(freshKey()), ttlMs: name === "expired" ? 100 : LONG };
      const { key, lease = "" } = first;
      assert.equal((await send(first)).outcome, "granted");
      await end(endpoint, first);
      const requests = withCredential(key, { lease });
      for (const request of requests) {
        // Giving back what nobody has taken up since asks for no time, and so does no harm.
        if (name === "expired" && request.operation === "release") continue;
        assert.deepEqual(await send(request), { v: 1, outcome: "not-holder", reason });
      }
      assert.equal(await client(endpoint).inspect(key), undefined);
      const next = await client(endpoint).acquire(key, { ttlMs: LONG, waitMs: 0 });
      const present = String(next.fence);
      for (const request of requests) {
        assert.deepEqual(await send(request), { v: 1, outcome: "not-holder", reason, present });
      }
      await next.verify();
      assert.deepEqual(await next.release(), { released: true });
    });
  }

  test("a release that arrives late frees nobody else's lease", async () => {
    const endpoint = await redis.endpoint();
    const send = sender(endpoint);
    const first = op.acquire(freshKey());
    await send(first);
    const release = op.release(first);
    assert.equal((await send(release)).outcome, "released");
    const next = await client(endpoint).acquire(first.key, { ttlMs: LONG, waitMs: 0 });
    for (const late of [release, op.release(first), op.cancel(first), first]) await send(late);
    await next.verify();
    assert.equal((await client(endpoint).inspect(first.key))?.holders[0]?.fence, next.fence);
    await next.release();
  });
});

const free = (endpoint: RestEndpoint, key: string) =>
  eventually("it has expired", async () => (await client(endpoint).inspect(key)) === undefined);
