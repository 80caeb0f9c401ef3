/** Tokens, lease ids and holders' names stay out of errors, logs and printed values. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import { type LeaseBackend, LeaseClient, LeaseError } from "leasehold";
import { http } from "leasehold/http";
import { TestClock } from "leasehold/testing";
import { upstash } from "leasehold/upstash";
import { bench, leaseError, within } from "../support/bench.ts";

const SECRET = "hunter2";

/** All that a logger could print of a value. */
const printed = (value: unknown) => `${inspect(value, { depth: 9 })} ${JSON.stringify(value)}`;

for (const [name, make] of Object.entries<(url: string, token: string) => LeaseBackend>({
  http: (url, token) => http({ url, token }),
  upstash: (url, token) => upstash({ url, token }),
})) {
  for (const [what, url, token, reason] of [
    ["a user in the URL", `https://me:${SECRET}@leases.example.com`, "t", "url"],
    ["a token in the query", `https://leases.example.com?token=${SECRET}`, "t", "url"],
    ["a token of two lines", "https://leases.example.com", `a\n${SECRET}`, "token"],
  ] as const) {
    test(`${name} refuses ${what} before any I/O and does not repeat it`, () => {
      assert.throws(
        () => make(url, token),
        (error: unknown) => {
          leaseError("INVALID", { reason })(error);
          assert.ok(!printed(error).includes(SECRET));
          return true;
        },
      );
    });
  }
}

/** What an HTTP client of one's own may throw: all that it was given is in it. */
function httpClient(thrown: (init: RequestInit) => Error) {
  const sent: string[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    sent.push(String(init?.body));
    throw Object.assign(thrown(init ?? {}), {
      code: "ECONNRESET",
      config: init,
      request: { init },
    });
  };
  return { sent, fetch };
}

for (const [name, make] of Object.entries<(fetch: typeof globalThis.fetch) => LeaseBackend>({
  http: (fetch) => http({ url: "https://leases.example.com", token: SECRET, fetch }),
  upstash: (fetch) => upstash({ url: "https://leases.example.com", token: SECRET, fetch }),
})) {
  for (const [what, thrown] of [
    ["lost its connection", ({ body }) => new Error(`socket hang up after ${body}`)],
    ["is wrong", () => new TypeError("axios.post is not a function")],
  ] satisfies [string, (init: RequestInit) => Error][]) {
    test(`${name}: what a fetch throws that ${what} is told of, and nothing that was sent is shown`, async () => {
      const { sent, fetch } = httpClient(thrown);
      const told: unknown[] = [];
      const onEvent = (event: unknown) => told.push(event);
      const leases = new LeaseClient(make(fetch), { onEvent, clock: new TestClock() });
      for (const call of [leases.tryAcquire("k", { holder: "ada-holder" }), leases.inspect("k")]) {
        told.push(await call.catch((error: unknown) => error));
      }
      const shown = told.map((each) => inspect(each, { depth: 20, showHidden: true })).join();
      assert.match(shown, /Error \(ECONNRESET\)/);
      const ids = sent.flatMap((body) => body.match(/[0-9a-f]{32}/g) ?? []);
      assert.ok(ids.length >= 3);
      for (const secret of [SECRET, "ada-holder", ...ids])
        assert.ok(!shown.includes(secret), shown);
    });
  }
}

test("what onEvent is told can be logged: no credential is in it", async () => {
  const { clock, client, events, host } = bench();
  const lease = await within(clock, 20, client.acquire("k", { holder: SECRET }));
  await within(clock, 20, lease.renew());
  await within(clock, 20, lease.release());
  assert.ok(events.length >= 3);
  const id = String(host.of("acquire")[0]?.request.lease);
  assert.match(id, /^[0-9a-f]{32}$/);
  for (const event of events) {
    assert.ok(!printed(event).includes(id), event.type);
    assert.ok(!printed(event).includes(SECRET), event.type);
  }
  const granted = events.find((event) => event.type === "granted");
  assert.equal(granted?.lease, lease);
});

test("run without a function is INVALID and nothing is sent", async () => {
  const { client, host } = bench();
  const run = client.run as unknown as (key: string, options: object) => Promise<void>;
  await assert.rejects(run.call(client, "k", {}), (error: unknown) => {
    assert.ok(LeaseError.is(error));
    assert.equal(error.code, "INVALID");
    return true;
  });
  assert.equal(host.requests.length, 0);
});

test("a term set by renew goes with the handle", async () => {
  const { clock, client } = bench();
  const lease = await within(clock, 20, client.acquire("k", { ttlMs: 5_000 }));
  await within(clock, 20, lease.renew({ ttlMs: 60_000 }));
  const handle = await within(clock, 20, lease.transfer("next"));
  assert.equal(handle.ttlMs, 60_000);
});
