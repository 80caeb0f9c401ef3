import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";
import { chargeOnce } from "../../../examples/run-once/charge.ts";
import { monthly } from "../../../examples/run-once/cron.ts";
import { Ledger } from "../../../examples/run-once/ledger.ts";
import { consumer, type Message } from "../../../examples/run-once/queue.ts";
import { webhook } from "../../../examples/run-once/webhook.ts";
import { leaseHost } from "./lease-host.ts";

/** A ledger in a file of its own. */
async function ledgerFile(t: TestContext): Promise<{ file: string; ledger: Ledger }> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-ledger-"));
  const file = join(folder, "ledger.db");
  const ledger = new Ledger(file);
  t.after(() => {
    ledger.close();
    return rm(folder, { recursive: true, force: true });
  });
  return { file, ledger };
}

describe("done once", () => {
  test("a message that is delivered again is acknowledged, and nothing is done", async (t) => {
    const { ledger } = await ledgerFile(t);
    const host = memory();
    const did: string[] = [];
    const message = (name: string, id: string): Message => ({
      body: { id, cents: 1_999 },
      ack: () => did.push(`${name} acked`),
      retry: ({ delaySeconds }) => did.push(`${name} again in ${delaySeconds} s`),
    });
    const consume = () => consumer(new LeaseClient(host, { waitMs: 0 }), ledger);
    await consume()({ messages: [message("first", "42"), message("other", "43")] });
    await consume()({ messages: [message("again", "42")] });
    assert.deepEqual(did, ["first acked", "other acked", "again acked"]);
    assert.equal(ledger.charges("42").length, 1);

    const busy = new LeaseClient(host);
    const lease = await busy.acquire("charge:44", { ttlMs: 30_000 });
    await consume()({ messages: [message("busy", "44")] });
    assert.equal(did.at(-1), "busy again in 30 s");
    await lease.release();
  });

  test("a webhook that is sent again has the same answer, one with another amount is refused", async (t) => {
    const { ledger } = await ledgerFile(t);
    const host = memory();
    const post = async (cents: unknown, key = "order-42") => {
      const handle = webhook(new LeaseClient(host), ledger);
      const headers = { "idempotency-key": key };
      const body = JSON.stringify({ cents });
      return handle(new Request("http://localhost/", { method: "POST", headers, body }));
    };
    const answers = await Promise.all([post(1_999), post(1_999), post(1_999)]);
    const [first, ...others] = await Promise.all(answers.map((answer) => answer.json()));
    assert.deepEqual(ledger.charges("order-42"), [first]);
    for (const other of others) assert.deepEqual(other, first);
    assert.equal((await post(2_000)).status, 422);
    assert.equal((await post("x")).status, 400);
    assert.equal(ledger.charges("order-42").length, 1);
  });

  test("a cron tick that fires on two deployments charges once", async (t) => {
    const { ledger } = await ledgerFile(t);
    const host = memory();
    const at = Date.parse("2026-11-30T06:00:00Z");
    const both = await Promise.all([1, 2].map(() => monthly(new LeaseClient(host), ledger, at)));
    assert.deepEqual(both[0], both[1]);
    assert.deepEqual(ledger.charges("subscription:2026-11"), [both[0]]);
    const next = await monthly(new LeaseClient(host), ledger, at + 31 * 86_400_000);
    assert.equal(next.id, "subscription:2026-12");
  });

  test("what fails is not recorded, and done by the next call", async (t) => {
    const { ledger } = await ledgerFile(t);
    const leases = new LeaseClient(memory());
    await assert.rejects(chargeOnce(leases, ledger, { id: "1", cents: null as never }), /NOT NULL/);
    assert.equal((await chargeOnce(leases, ledger, { id: "1", cents: 5 })).cents, 5);
  });
});

describe("done once, by processes that crash", () => {
  interface Server {
    readonly child: ChildProcess;
    said(line: string): Promise<void>;
    post(id: string): Promise<Response>;
  }

  async function start(t: TestContext, env: object, file: string): Promise<Server> {
    const main = fileURLToPath(new URL("../../../examples/run-once/main.ts", import.meta.url));
    const child = spawn(process.execPath, [main, file], {
      env: { ...process.env, ...env, TERM_MS: "1500", NODE_NO_WARNINGS: "1" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    t.after(() => child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const [, port] = String((await lines.next()).value).split("listening on ");
    return {
      child,
      said: async (line) => assert.equal((await lines.next()).value, line),
      post: (id) => {
        const headers = { "idempotency-key": id };
        return fetch(`http://localhost:${port}/`, { method: "POST", headers, body: '{"cents":5}' });
      },
    };
  }

  for (const { when, slow, line, kept } of [
    { when: "before", slow: { BANK_MS: "600000" }, line: "charging 7", kept: false },
    { when: "after", slow: { MAIL_MS: "600000" }, line: "charged 7", kept: true },
  ]) {
    test(`one that crashes ${when} the charge is succeeded, and there is one charge`, async (t) => {
      const { file, ledger } = await ledgerFile(t);
      const env = await leaseHost(t);
      const crashing = await start(t, { ...env, ...slow }, file);
      crashing.post("7").catch(() => {});
      await crashing.said("charging 7");
      if (line !== "charging 7") await crashing.said(line);
      const [before] = ledger.charges("7");
      assert.equal(before !== undefined, kept);
      crashing.child.kill("SIGKILL");
      const next = await start(t, env, file);
      const charge = await (await next.post("7")).json();
      assert.deepEqual(ledger.charges("7"), [charge]);
      if (kept) assert.deepEqual(charge, before);
      assert.deepEqual(await (await next.post("7")).json(), charge);
    });
  }

  test("one that is frozen before the charge, and thawed after the next one's, is refused", async (t) => {
    const { file, ledger } = await ledgerFile(t);
    const env = await leaseHost(t);
    const frozen = await start(t, { ...env, BANK_MS: "500" }, file);
    const late = frozen.post("7");
    await frozen.said("charging 7");
    frozen.child.kill("SIGSTOP");
    const next = await start(t, env, file);
    const charge = await (await next.post("7")).json();
    frozen.child.kill("SIGCONT");
    const refused = await late;
    assert.equal(refused.status, 500);
    assert.match(await refused.text(), /newer holder .* its fence is higher/);
    assert.deepEqual(ledger.charges("7"), [charge]);
  });
});
