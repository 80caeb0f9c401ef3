import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Lease } from "leasehold";
import { type Election, election, type Leader } from "leasehold/election";
import { seededRandom } from "../../rest-endpoint/random.ts";
import { bench, follow, leaseError, type Party, parties, pause, within } from "../support/bench.ts";

const NAME = "leader:billing";

/** Collects what an election tells of its leaders. */
function observed(watched: Election<string>, signal: AbortSignal): (string | undefined)[] {
  const told: (string | undefined)[] = [];
  const watching = async () => {
    for await (const leader of watched.observe({ signal })) told.push(leader?.value);
  };
  watching().catch((error) => assert.equal(error, signal.reason));
  return told;
}

describe("election", () => {
  test("the first leads, with its value; who resigns is followed by the next in line", async () => {
    const { clock, client, rival } = bench({ holder: "ada" });
    const ada = election<string>(client, NAME);
    const bob = election<string>(rival({ holder: "bob" }), NAME);
    assert.equal(await within(clock, 20, bob.leader()), undefined);
    const first = await within(clock, 60, ada.campaign("10.0.0.1"));
    const second = bob.campaign("10.0.0.2");
    const standing = follow(second);
    await clock.advance(100_000);
    assert.equal(standing().status, "pending");
    const told: Leader<string> = { holder: "ada", fence: first.fence, value: "10.0.0.1" };
    assert.deepEqual(await within(clock, 20, bob.leader()), told);
    await within(clock, 20, ada.proclaim("10.0.0.7"));
    assert.equal((await within(clock, 20, bob.leader()))?.value, "10.0.0.7");

    assert.deepEqual(await within(clock, 20, ada.resign()), { released: true });
    const next = await within(clock, 200, second);
    assert.ok(next.held);
    assert.ok(next.fence > first.fence);
    assert.equal(first.held, false);
    assert.equal((await within(clock, 20, ada.leader()))?.value, "10.0.0.2");
    await assert.rejects(within(clock, 20, ada.proclaim("late")), leaseError("LOST"));
  });

  test("a leader that is cut off knows it before the next one leads", async () => {
    const { clock, all } = parties(2);
    const [ada, bob] = all;
    assert.ok(ada && bob);
    const first = election<string>(ada.client, NAME, { ttlMs: 3_000 });
    const lease = await within(clock, 60, first.campaign("ada"));
    let lostAt = 0;
    lease.addEventListener("lost", () => {
      lostAt = clock.now;
    });
    const next = election<string>(bob.client, NAME, { ttlMs: 3_000 }).campaign("bob");
    await clock.advance(1_000);
    ada.host.always("*", { deliver: 0 });
    const wonAt = next.then(() => clock.now);
    await clock.advance(5_000);
    assert.ok(lostAt > 0 && lostAt < (await wonAt), `lost at ${lostAt}, won at ${await wonAt}`);
    await assert.rejects(first.proclaim("still me"), leaseError("LOST", { reason: "expired" }));
    await clock.advance(10_000);
  });

  test("observers are told of every leader that lasts, and of there being none", async () => {
    const { clock, client, rival } = bench();
    const abort = new AbortController();
    const [ada, bob] = [election<string>(client, NAME), election<string>(rival(), NAME)];
    const told = observed(election<string>(rival(), NAME), abort.signal);
    await clock.advance(200);
    assert.deepEqual(told, [undefined]);
    await within(clock, 60, ada.campaign("ada"));
    await clock.advance(300);
    await within(clock, 20, ada.proclaim("ada again"));
    await clock.advance(300);
    await within(clock, 20, ada.resign());
    await clock.advance(300);
    await within(clock, 60, bob.campaign("bob"));
    await clock.advance(300);
    assert.deepEqual(told, [undefined, "ada", "ada again", undefined, "bob"]);
    abort.abort(new Error("seen enough"));
    await clock.advance(100);
  });

  test("whoever leads already proclaims; one campaign at a time; one ends by its signal", async () => {
    const { clock, client, rival } = bench();
    const [ada, bob] = [election<string>(client, NAME), election<string>(rival(), NAME)];
    const lease = await within(clock, 60, ada.campaign("one"));
    assert.equal(await within(clock, 60, ada.campaign("two")), lease);
    assert.equal((await within(clock, 20, bob.leader()))?.value, "two");
    const abort = new AbortController();
    const waiting = bob.campaign("bob", { signal: abort.signal });
    follow(waiting);
    await assert.rejects(bob.campaign("bob"), leaseError("INVALID", { reason: "campaign" }));
    const reason = new Error("no longer a candidate");
    abort.abort(reason);
    await assert.rejects(within(clock, 20, waiting), (error) => error === reason);
    assert.deepEqual(await within(clock, 20, bob.resign()), {
      released: false,
      reason: "not-held",
    });
    await within(clock, 20, ada.resign());
    await within(clock, 60, bob.campaign("bob"));
  });

  test("a candidate that has lost the leadership without knowing it campaigns anew", async () => {
    const { clock, client, rival } = bench();
    const ada = election<string>(client, NAME);
    const first = await within(clock, 60, ada.campaign("one"));
    await within(clock, 20, rival().revoke(NAME));
    assert.ok(first.held, "it does not know yet");
    const second = await within(clock, 200, ada.campaign("two"));
    assert.ok(second.held && second.fence > first.fence);
    assert.equal((await within(clock, 20, ada.leader()))?.value, "two");

    await within(clock, 20, rival().revoke(NAME));
    const bob = await within(clock, 60, election<string>(rival(), NAME).campaign("bob"));
    const waiting = follow(ada.campaign("three"));
    await clock.advance(1_000);
    assert.equal(waiting().status, "pending", "behind the new leader");
    await within(clock, 20, bob.release());
    await clock.advance(200);
    assert.equal(waiting().status, "fulfilled");
  });

  test("who resigns while it campaigns is no candidate any more, however far it has come", async () => {
    for (let afterMs = 0; afterMs <= 50; afterMs += 5) {
      const { clock, client, rival } = bench();
      const ada = election<string>(client, NAME);
      const campaign = follow(ada.campaign("ada"));
      await clock.advance(afterMs);
      const isWon = campaign().status === "fulfilled";
      const resigned = await within(clock, 20, ada.resign());
      assert.equal(resigned.released, isWon);
      const outcome = campaign();
      if (!isWon) {
        assert.ok(outcome.status === "rejected", `after ${afterMs} ms`);
        leaseError("LOST", { key: NAME, reason: "released" })(outcome.reason);
      }
      await clock.advance(1_000);
      assert.equal(await within(clock, 20, rival().inspect(NAME)), undefined);
      assert.ok((await within(clock, 60, ada.campaign("again"))).held);
    }
  });

  test("a leader that resigns while it proclaims by another campaign does not begin anew", async () => {
    const { clock, client, rival } = bench();
    const ada = election<string>(client, NAME);
    await within(clock, 60, ada.campaign("one"));
    const campaign = follow(ada.campaign("two"));
    await within(clock, 40, ada.resign());
    await clock.advance(1_000);
    assert.equal(campaign().status, "rejected");
    assert.equal(await within(clock, 20, rival().inspect(NAME)), undefined);
  });

  test("a campaign that lasts for more than a day goes on", async () => {
    const { clock, client, rival } = bench();
    const ada = election<string>(client, NAME, { ttlMs: 3_600_000 });
    await within(clock, 60, ada.campaign("ada"));
    const next = election<string>(rival(), NAME).campaign("bob");
    const standing = follow(next);
    await clock.advance(25 * 3_600_000);
    assert.equal(standing().status, "pending");
    await within(clock, 60, ada.resign());
    assert.ok((await within(clock, 200, next)).held);
  });

  test("a bad argument is told at once", async () => {
    const { client } = bench();
    const invalid = (reason: string) => leaseError("INVALID", { reason });
    assert.throws(() => election({} as never, NAME), invalid("leases"));
    assert.throws(() => election(client, ""), invalid("name"));
    assert.throws(() => election(client, NAME, { ttlMs: 1 }), invalid("ttlMs"));
    const own = election<string>(client, NAME);
    await assert.rejects(own.campaign("x".repeat(4_096)), invalid("value"));
    await assert.rejects(own.campaign("x", { signal: 1 as never }), invalid("signal"));
    assert.throws(() => own.observe({ timeoutMs: 0 }), invalid("timeoutMs"));
  });

  test("whatever the network does, no two lead at once, and fences rise", async () => {
    let terms = 0;
    for (let seed = 1; seed <= 20; seed += 1) terms += await stormyElection(seed);
    assert.ok(terms > 100, `${terms} terms`);
  });
});

/** Half a minute of three candidates whose networks come and go; how many terms there were. */
async function stormyElection(seed: number): Promise<number> {
  const { clock, all } = parties(3);
  const random = seededRandom(seed);
  const terms: Lease[] = [];
  let isOver = false;
  const stand = async ({ client }: Party) => {
    const own = election<string>(client, NAME, { ttlMs: 2_000 });
    while (!isOver) {
      const lease = await own.campaign("me").catch(() => undefined);
      if (lease !== undefined) terms.push(lease);
      await pause(clock, 100 + random() * 3_000);
      await own.resign({ timeoutMs: 100 });
    }
  };
  const standing = all.map((party) => follow(stand(party)));
  for (let turn = 0; turn < 600; turn += 1) {
    if (turn % 20 === 0) {
      for (const { host } of all) {
        host.restore();
        if (random() < 0.3) host.always("*", { deliver: 0 });
        else host.always("*", { toClientMs: random() * 300, toHostMs: random() * 50 });
      }
    }
    await clock.advance(50);
    const leading = terms.filter(({ held }) => held);
    assert.ok(leading.length <= 1, `seed ${seed}: ${leading.length} lead at ${clock.now} ms`);
  }
  isOver = true;
  for (const { host } of all) host.restore();
  await clock.advance(20_000);
  assert.ok(standing.every((each) => each().status === "fulfilled"));
  const inOrder = [...terms].sort((one, other) => (one.fence < other.fence ? -1 : 1));
  assert.deepEqual(terms, inOrder, `seed ${seed}: fences rise`);
  return terms.length;
}
