import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Attempt, Attempts, workOnce } from "../../../examples/attempts/attempts.ts";

const START = 1_000_000_000_000;
const lost = (reason: string) => ({ code: "LOST", reason });

/** Two workers' views of one database, on a clock that the test moves. */
async function shared(t: TestContext): Promise<{ one: Attempts; two: Attempts }> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-attempts-"));
  const databases = [1, 2].map(() => new DatabaseSync(join(folder, "runs.db"), { timeout: 5_000 }));
  const [one, two] = databases.map((database) => new Attempts(database));
  t.after(() => {
    for (const database of databases) database.close();
    return rm(folder, { recursive: true, force: true });
  });
  t.mock.timers.enable({ apis: ["Date", "setInterval", "setTimeout"], now: START });
  assert.ok(one && two);
  return { one, two };
}

describe("attempts", () => {
  test("a run is claimed by one worker, with a handle that says all", async (t) => {
    const { one, two } = await shared(t);
    const [first, second] = [one.add("first"), one.add("second")];
    assert.deepEqual(one.claim("anna"), {
      run: first,
      input: "first",
      attempt: 1,
      owner: "anna",
      fence: 1n,
      expiresAt: START + 30_000,
    });
    const other = two.claim("ben");
    assert.deepEqual([other?.run, other?.fence], [second, 2n]);
    assert.equal(two.claim("ben"), undefined);
  });

  test("a term of 30 s is kept by heartbeats and over without; a thawed worker is refused", async (t) => {
    const { one, two } = await shared(t);
    const run = one.add("ship");
    let anna = one.claim("anna") as Attempt;
    for (let beat = 0; beat < 6; beat += 1) {
      t.mock.timers.tick(10_000);
      assert.equal(two.claim("ben"), undefined);
      anna = one.extend(anna);
    }
    // Anna freezes: no heartbeat any more.
    t.mock.timers.tick(29_999);
    assert.equal(two.claim("ben"), undefined);
    t.mock.timers.tick(1);
    assert.throws(() => one.extend(anna), lost("expired"), "over, and nobody revives it");
    const ben = two.claim("ben") as Attempt;
    assert.deepEqual([ben.run, ben.attempt], [run, 2]);
    assert.ok(ben.fence > anna.fence);
    for (const late of [
      () => one.extend(anna),
      () => one.finish(anna, "anna's"),
      () => one.giveUp(anna),
      () => one.write(anna, () => assert.fail("nothing of hers is run")),
    ]) {
      assert.throws(late, lost("fenced-out"));
    }
    two.finish(ben, "ben's");
    assert.equal(one.result(run), "ben's");
    assert.equal(one.claim("anna"), undefined);
    assert.throws(() => two.finish(ben, "again"), lost("expired"));
    assert.equal(one.result(run), "ben's");
  });

  test("the worker beats each 10 s, aborts the job when it is lost, passes on what is given up", async (t) => {
    const { one, two } = await shared(t);
    const run = one.add("ship");
    let signal: AbortSignal | undefined;
    const working = workOnce(one, "anna", (_, aborted) => {
      signal = aborted;
      return new Promise((_, reject) => {
        aborted.addEventListener("abort", () => reject(new Error("stopped")));
      });
    });
    for (let beat = 0; beat < 9; beat += 1) {
      t.mock.timers.tick(10_000);
    }
    assert.equal(signal?.aborted, false);
    assert.equal(two.claim("ben"), undefined);
    // Time passes without a heartbeat, as in a frozen process; then it thaws.
    t.mock.timers.setTime(START + 200_000);
    const ben = two.claim("ben") as Attempt;
    t.mock.timers.tick(10_000);
    await assert.rejects(working, lost("fenced-out"));
    assert.equal(signal?.aborted, true);
    two.giveUp(ben);

    const bug = new Error("a bug");
    await assert.rejects(
      workOnce(two, "ben", () => Promise.reject(bug)),
      (error) => error === bug,
    );
    assert.equal(await workOnce(one, "anna", async ({ attempt }) => `attempt ${attempt}`), true);
    assert.equal(two.result(run), "attempt 4");
    assert.equal(await workOnce(one, "anna", async () => "never"), false);
  });

  test("real processes: one is frozen, the other takes over, the thawed one is refused", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-attempts-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, "runs.db");
    const database = new DatabaseSync(file, { timeout: 5_000 });
    const attempts = new Attempts(database);
    const run = attempts.add("ship order 42");
    const main = fileURLToPath(new URL("../../../examples/attempts/main.ts", import.meta.url));
    const start = (owner: string, workMs: number): { child: ChildProcess; lines: Lines } => {
      const env = {
        ...process.env,
        TERM_MS: "900",
        WORK_MS: String(workMs),
        NODE_NO_WARNINGS: "1",
      };
      const stdio = ["ignore", "pipe", "inherit"] as const;
      const child = spawn(process.execPath, [main, file, owner], { env, stdio: [...stdio] });
      t.after(() => child.kill("SIGKILL"));
      return {
        child,
        lines: createInterface({ input: child.stdout ?? process.stdin })[Symbol.asyncIterator](),
      };
    };
    const anna = start("anna", 120_000);
    assert.equal((await anna.lines.next()).value, `anna begins run ${run}, attempt 1, fence 1`);
    anna.child.kill("SIGSTOP");
    await over(database);
    const ben = start("ben", 10);
    assert.equal((await ben.lines.next()).value, `ben begins run ${run}, attempt 2, fence 2`);
    assert.equal((await ben.lines.next()).value, "ben is done");
    anna.child.kill("SIGCONT");
    assert.match(
      String((await anna.lines.next()).value),
      /^anna is refused: (expired|fenced-out)$/,
    );
    assert.deepEqual(await once(anna.child, "exit"), [0, null]);
    assert.equal(attempts.result(run), "ship order 42, by ben");
    database.close();
  });
});

type Lines = AsyncIterator<string>;

/** Waits until the attempt's term is over. */
async function over(database: DatabaseSync): Promise<void> {
  const alive = database.prepare("SELECT 1 FROM attempt WHERE expires_at > ?");
  while (alive.get(Date.now()) !== undefined) {
    await new Promise((wake) => setTimeout(wake, 20));
  }
}
