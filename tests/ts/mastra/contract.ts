import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { type LeaseBackend, LeaseClient, LeaseError } from "leasehold";
import { type LeaseProvider, leaseProvider } from "leasehold/mastra";
import { answersLost } from "../contract/wrappers.ts";
import type { Host } from "../support/hosts.ts";

const SECRET = "a secret that all of them share";
const TTL = 15_000;
/** A term whose end a test waits for, long enough to be renewed before on a busy machine. */
const SHORT = 1_500;

const pause = (ms: number) => new Promise((wake) => setTimeout(wake, ms));

let last = 0;
/** Keys as Mastra makes them. */
const freshKey = () => `resource ${process.pid}\0thread ${++last}`;

/** A host whose answers, or some of them, take as long as a test likes. */
function hanging(host: LeaseBackend, operation: string): LeaseBackend {
  return {
    capabilities: host.capabilities,
    call: (request, options) =>
      request.operation === operation ? new Promise(() => {}) : host.call(request, options),
  };
}

/** What Mastra expects of a lease provider, on a host. */
export function contract(name: string, start: () => Promise<Host>): void {
  describe(`Mastra's lease provider: ${name}`, () => {
    let host: Host;
    let one: LeaseProvider;
    let two: LeaseProvider;
    const provider = (carrier = host.carrier()) =>
      leaseProvider(new LeaseClient(carrier), { secret: SECRET });
    before(async () => {
      host = await start();
      one = provider();
      two = provider();
    });
    after(() => host.close());

    describe("does what Mastra expects", { concurrency: 4 }, () => {
      test("a free key is acquired, and everybody can read the owner", async () => {
        const key = freshKey();
        assert.deepEqual(await one.acquireLease(key, "a", TTL), { acquired: true, owner: "a" });
        assert.equal(await one.getLeaseOwner(key), "a");
        assert.equal(await two.getLeaseOwner(key), "a");
      });

      test("another owner is denied, and told who has the key", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        assert.deepEqual(await two.acquireLease(key, "b", TTL), { acquired: false, owner: "a" });
        assert.equal(await two.getLeaseOwner(key), "a");
      });

      test("of many who race one wins, and the others are told who", async () => {
        for (let round = 0; round < 5; round += 1) {
          const key = freshKey();
          const owners = Array.from({ length: 8 }, (_, at) => `owner ${at}`);
          const answers = await Promise.all(
            owners.map((owner) => provider().acquireLease(key, owner, TTL)),
          );
          const winners = answers.filter(({ acquired }) => acquired);
          assert.equal(winners.length, 1);
          for (const { owner } of answers) assert.equal(owner, winners[0]?.owner);
        }
      });

      test("the owner may acquire again, from any process", async () => {
        const key = freshKey();
        for (const each of [one, one, two]) {
          assert.deepEqual(await each.acquireLease(key, "a", TTL), { acquired: true, owner: "a" });
        }
      });

      test("an expired lease is free for another owner", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", SHORT);
        await pause(SHORT * 1.5);
        assert.equal(await two.getLeaseOwner(key), undefined);
        assert.deepEqual(await two.acquireLease(key, "b", TTL), { acquired: true, owner: "b" });
      });

      test("a release by somebody else, or of nothing, does nothing", async () => {
        const key = freshKey();
        assert.equal(await one.releaseLease(key, "a"), undefined);
        await one.acquireLease(key, "a", TTL);
        assert.equal(await two.releaseLease(key, "b"), undefined);
        assert.equal(await one.getLeaseOwner(key), "a");
      });

      test("a release by the owner frees the key, from any process", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        assert.equal(await two.releaseLease(key, "a"), undefined);
        assert.equal(await one.getLeaseOwner(key), undefined);
        assert.deepEqual(await two.acquireLease(key, "b", TTL), { acquired: true, owner: "b" });
      });

      test("a renewal before the end goes beyond it", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", SHORT);
        await pause(SHORT / 2);
        assert.equal(await two.renewLease(key, "a", TTL), true);
        await pause(SHORT);
        assert.equal(await one.getLeaseOwner(key), "a");
      });

      test("a renewal by somebody else is refused and changes nothing", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        assert.equal(await two.renewLease(key, "b", TTL), false);
        assert.equal(await two.getLeaseOwner(key), "a");
      });

      test("a renewal after the end is refused, and brings nothing back", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", SHORT);
        await pause(SHORT * 1.5);
        assert.equal(await one.renewLease(key, "a", TTL), false);
        assert.equal(await one.getLeaseOwner(key), undefined);
        assert.equal(await one.renewLease(freshKey(), "a", TTL), false);
      });

      test("a transfer hands the key over", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        assert.equal(await two.transferLease(key, "a", "b", TTL), true);
        assert.equal(await one.getLeaseOwner(key), "b");
        assert.equal(await one.renewLease(key, "a", TTL), false);
        assert.equal(await one.renewLease(key, "b", TTL), true);
        await one.releaseLease(key, "a");
        assert.equal(await one.getLeaseOwner(key), "b");
        assert.deepEqual(await two.acquireLease(key, "b", TTL), { acquired: true, owner: "b" });
        await two.releaseLease(key, "b");
        assert.equal(await one.getLeaseOwner(key), undefined);
      });

      test("a transfer back and forth goes on working", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        for (const [from, to] of [
          ["a", "b"],
          ["b", "a"],
          ["a", "b"],
          ["b", "a"],
        ] as const) {
          assert.equal(await one.transferLease(key, from, to, TTL), true);
          assert.equal(await two.getLeaseOwner(key), to);
        }
      });

      test("a transfer by who doesn't own the key is refused and changes nothing", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        assert.equal(await two.transferLease(key, "b", "c", TTL), false);
        assert.equal(await two.transferLease(key, "b", "a", TTL), false);
        assert.equal(await two.getLeaseOwner(key), "a");
      });

      test("a transfer after the end is refused, and the key stays free", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", SHORT);
        await pause(SHORT * 1.5);
        assert.equal(await one.transferLease(key, "a", "b", TTL), false);
        assert.equal(await one.getLeaseOwner(key), undefined);
      });

      test("a transfer begins a whole term, one to itself as well", async () => {
        for (const to of ["a", "b"]) {
          const key = freshKey();
          await one.acquireLease(key, "a", SHORT);
          await pause(SHORT / 2);
          assert.equal(await one.transferLease(key, "a", to, TTL), true);
          await pause(SHORT);
          assert.equal(await one.getLeaseOwner(key), to);
        }
      });

      test("a key that nobody knows has no owner", async () => {
        assert.equal(await one.getLeaseOwner(freshKey()), undefined);
      });

      test("different keys have nothing to do with each other", async () => {
        const [left, right] = [freshKey(), freshKey()];
        await one.acquireLease(left, "a", TTL);
        assert.deepEqual(await one.acquireLease(right, "b", TTL), { acquired: true, owner: "b" });
        await one.releaseLease(left, "a");
        assert.equal(await one.getLeaseOwner(right), "b");
      });

      test("during a transfer the key is never free", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a0", TTL);
        let handing = true;
        const looking = (async () => {
          while (handing) {
            const denied = await two.acquireLease(key, "thief", TTL);
            assert.equal(denied.acquired, false);
            assert.match(String(await two.getLeaseOwner(key)), /^a\d+$/);
          }
        })();
        for (let turn = 0; turn < 20; turn += 1) {
          assert.equal(await one.transferLease(key, `a${turn}`, `a${turn + 1}`, TTL), true);
        }
        handing = false;
        await looking;
      });

      test("any text is a key, and any text of up to 256 bytes an owner", async () => {
        const prefix = freshKey();
        const texts = ["\0", "\ud800", "\udfff", "~", '~"a"', "😀", "é", "e\u0301", '"', "\n", " "];
        const keys = [...texts, "x".repeat(600), "\ufffd", `~${"0".repeat(64)}`].map(
          (text) => prefix + text,
        );
        for (const [at, key] of [...keys, ...texts.map((text) => text + prefix)].entries()) {
          assert.deepEqual(await one.acquireLease(key, `${at}`, TTL), {
            acquired: true,
            owner: `${at}`,
          });
        }
        for (const [at, key] of keys.entries()) assert.equal(await two.getLeaseOwner(key), `${at}`);

        const owners = [...texts, "\ufffd", "o".repeat(256)];
        for (const owner of owners) {
          const key = freshKey();
          assert.deepEqual(await one.acquireLease(key, owner, TTL), { acquired: true, owner });
          assert.deepEqual(await two.acquireLease(key, `${owner.slice(1)}?`, TTL), {
            acquired: false,
            owner,
          });
          assert.equal(await two.renewLease(key, owner, TTL), true);
          assert.equal(await two.transferLease(key, owner, "next", TTL), true);
          assert.equal(await two.transferLease(key, "next", owner, TTL), true);
          assert.equal(await two.getLeaseOwner(key), owner);
          await two.releaseLease(key, owner);
          assert.equal(await one.getLeaseOwner(key), undefined);
        }
        const key = freshKey();
        for (const [at, owner] of ["\ud800", "\ud801", "\ufffd"].entries()) {
          const { acquired } = await one.acquireLease(key, owner, TTL);
          assert.equal(acquired, at === 0, "owners that differ are different");
        }
      });

      test("what can't be is rejected with a TypeError, and nothing is sent", async () => {
        const sent: string[] = [];
        const { capabilities } = host.carrier();
        const counting: LeaseBackend = {
          capabilities,
          call: (request) => {
            sent.push(request.operation);
            return new Promise(() => {});
          },
        };
        const it = provider(counting);
        const odd = (call: () => Promise<unknown>) => assert.rejects(call(), TypeError);
        for (const ttl of [
          0,
          -1,
          1.5,
          Number.NaN,
          Infinity,
          "5000",
          undefined,
          null,
          99,
          86_400_001,
        ]) {
          await odd(() => it.acquireLease("k", "a", ttl as number));
          await odd(() => it.renewLease("k", "a", ttl as number));
          await odd(() => it.transferLease("k", "a", "b", ttl as number));
        }
        for (const text of ["", undefined, null, 7, {}] as string[]) {
          await odd(() => it.acquireLease(text, "a", TTL));
          await odd(() => it.acquireLease("k", text, TTL));
          await odd(() => it.renewLease("k", text, TTL));
          await odd(() => it.releaseLease(text, "a"));
          await odd(() => it.releaseLease("k", text));
          await odd(() => it.getLeaseOwner(text));
          await odd(() => it.transferLease("k", text, "b", TTL));
          await odd(() => it.transferLease("k", "a", text, TTL));
        }
        await odd(() => it.acquireLease("k", "o".repeat(257), TTL));
        assert.deepEqual(sent, []);
      });

      test("a lost answer changes nothing of what comes out", async () => {
        for (const operation of ["acquire", "renew", "transfer", "inspect", "release"]) {
          const key = freshKey();
          const shaky = () => provider(answersLost(host.carrier(), operation, 1));
          assert.deepEqual(await shaky().acquireLease(key, "a", TTL), {
            acquired: true,
            owner: "a",
          });
          assert.deepEqual(await shaky().acquireLease(key, "b", TTL), {
            acquired: false,
            owner: "a",
          });
          assert.equal(await shaky().renewLease(key, "a", TTL), true);
          assert.equal(await shaky().getLeaseOwner(key), "a");
          assert.equal(await shaky().transferLease(key, "a", "b", TTL), true, operation);
          assert.equal(await one.getLeaseOwner(key), "b");
          assert.equal(await one.renewLease(key, "a", TTL), false);
          await shaky().releaseLease(key, "b");
          assert.equal(await one.getLeaseOwner(key), undefined);
        }
      });

      test("a release whose answer is lost doesn't end what others have acquired since", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        const carrier = host.carrier();
        let next: Promise<unknown> | undefined;
        const shaky: LeaseBackend = {
          capabilities: carrier.capabilities,
          async call(request, options) {
            const answer = await carrier.call(request, options);
            if (request.operation !== "release" || next !== undefined) return answer;
            next = two.acquireLease(key, "a", TTL);
            await next;
            throw new Error("connection reset");
          },
        };
        await provider(shaky).releaseLease(key, "a");
        assert.deepEqual(await next, { acquired: true, owner: "a" });
        assert.equal(await one.getLeaseOwner(key), "a");
      });

      test("a host that never answers takes a third of the term, and a rejection", async () => {
        const ttl = 1_500;
        for (const [operation, call] of [
          ["acquire", (it: LeaseProvider, key: string) => it.acquireLease(key, "a", ttl)],
          ["renew", (it: LeaseProvider, key: string) => it.renewLease(key, "a", ttl)],
          ["transfer", (it: LeaseProvider, key: string) => it.transferLease(key, "a", "b", ttl)],
          ["inspect", (it: LeaseProvider, key: string) => it.transferLease(key, "a", "b", ttl)],
        ] as const) {
          const key = freshKey();
          await one.acquireLease(key, "a", TTL);
          const it = provider(hanging(host.carrier(), operation));
          const begun = performance.now();
          await assert.rejects(call(it, key), (error) => {
            assert.ok(LeaseError.is(error));
            assert.equal(error.code, "UNAVAILABLE");
            return true;
          });
          assert.ok(performance.now() - begun < ttl, operation);
          assert.equal(await one.getLeaseOwner(key), "a");
        }
        const limited = leaseProvider(new LeaseClient(hanging(host.carrier(), "inspect")), {
          secret: SECRET,
          timeoutMs: 300,
        });
        const begun = performance.now();
        await assert.rejects(limited.getLeaseOwner("k"), { code: "UNAVAILABLE" });
        await assert.rejects(limited.releaseLease("k", "a"), { code: "UNAVAILABLE" });
        assert.ok(performance.now() - begun < 1_500);
      });

      test("without the secret nobody can act for an owner", async () => {
        const key = freshKey();
        await one.acquireLease(key, "a", TTL);
        const stranger = leaseProvider(new LeaseClient(host.carrier()), {
          secret: "some other secret than theirs",
        });
        assert.equal((await stranger.acquireLease(key, "a", TTL)).acquired, false);
        assert.equal(await stranger.renewLease(key, "a", TTL), false);
        assert.equal(await stranger.transferLease(key, "a", "b", TTL), false);
        await stranger.releaseLease(key, "a");
        assert.equal(await one.getLeaseOwner(key), "a");
      });
    });

    // By itself: the others have a clock.
    test("however much a key was asked for, who acquires it has a whole term", async () => {
      const key = freshKey();
      await one.acquireLease(key, "a", TTL);
      for (let round = 0; round < 11; round += 1) {
        const denied = Array.from({ length: 100 }, () => two.acquireLease(key, "b", TTL));
        for (const { acquired } of await Promise.all(denied)) assert.equal(acquired, false);
      }
      await one.releaseLease(key, "a");
      assert.deepEqual(await two.acquireLease(key, "b", TTL), { acquired: true, owner: "b" });
      await pause(4_500);
      assert.equal(await one.getLeaseOwner(key), "b");
    });
  });
}
