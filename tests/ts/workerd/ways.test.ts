/** Several ways to one host: what becomes of leases when one of them fails. */

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { Workers } from "./harness.ts";

const TOKEN = "everything-0123456789";
const ACQUIRE = { ttlMs: 1_000, renewal: { t1: 0.2, t2: 0.4 } };

/** One way to the host: open, closed to new requests, or silent. */
class Way implements AsyncDisposable {
  state: "open" | "closed" | "silent" = "open";
  requests = 0;
  readonly #server: Server;

  private constructor(host: URL) {
    this.#server = createServer(async (request, response) => {
      this.requests += 1;
      if (this.state === "silent") return;
      if (this.state === "closed") return void request.socket.destroy();
      const { method = "", headers, url = "" } = request;
      const body = await text(request);
      const { authorization = "" } = headers;
      const answer = await fetch(new URL(url, host), { method, headers: { authorization }, body });
      response.writeHead(answer.status, { "content-type": "application/json" });
      response.end(await answer.text());
    });
  }

  static async to(host: URL): Promise<Way> {
    const way = new Way(host);
    await new Promise<void>((listening) => way.#server.listen(0, "127.0.0.1", listening));
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

let workers: Workers;

before(async () => {
  workers = await Workers.start({
    name: "leasehold",
    entry: new URL(import.meta.resolve("leasehold/worker")),
    durableObjects: { LEASES: "LeaseHost" },
    vars: { LEASEHOLD_TOKENS: TOKEN },
  });
});
after(() => workers.stop());

for (const failure of ["closed", "silent"] as const) {
  test(`a lease outlives its way to the host when that is ${failure}`, async () => {
    await using first = await Way.to(await workers.url());
    await using second = await Way.to(await workers.url());
    const leases = new LeaseClient(http({ url: [first.url, second.url], token: TOKEN }));
    const lease = await leases.acquire(failure, ACQUIRE);
    lease.addEventListener("lost", () => assert.fail("lost"));
    assert.equal(second.requests, 0, "one way is enough as long as it answers");
    first.state = failure;
    await new Promise((wake) => setTimeout(wake, 3 * ACQUIRE.ttlMs));
    await lease.verify();
    const other = new LeaseClient(http({ url: second.url, token: TOKEN }));
    assert.equal((await other.inspect(failure))?.holders[0]?.fence, lease.fence);
    assert.deepEqual(await lease.release(), { released: true });
  });
}

test("an acquire takes the next way, and the same one from then on", async () => {
  await using first = await Way.to(await workers.url());
  await using second = await Way.to(await workers.url());
  first.state = "closed";
  const leases = new LeaseClient(http({ url: [first.url, second.url], token: TOKEN }));
  await (await leases.acquire("next", ACQUIRE)).release();
  await (await leases.acquire("next", ACQUIRE)).release();
  assert.equal(first.requests, 1);
});
