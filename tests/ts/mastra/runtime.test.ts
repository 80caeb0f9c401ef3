import assert from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { LeaseClient } from "leasehold";
import { leaseProvider } from "leasehold/mastra";
import { durableObjectHost, type RemoteHost, redisHost } from "../support/hosts.ts";
import { install } from "../support/install.ts";

const RUNTIME = fileURLToPath(new URL("./runtime", import.meta.url));

const TTL_MS = 3_000;
const RUN_MS = 800;

/** What an agent's process tells. */
interface Told {
  readonly ready?: true;
  readonly uncaught?: string;
  readonly model?: string;
  readonly part?: string;
  readonly said?: string;
  readonly action?: string;
  readonly runId?: string;
}

/** One process of the agent. */
class Process implements AsyncDisposable {
  readonly told: Told[] = [];
  readonly #child: ChildProcess;
  #look: () => void = () => {};

  constructor(env: Record<string, string>) {
    this.#child = fork(join(RUNTIME, "agent.js"), { env: { ...process.env, ...env } });
    this.#child.on("message", (told) => {
      this.told.push(told as Told);
      this.#look();
    });
  }

  say(text: string, how: "send" | "queue" = "send"): void {
    this.#child.send({ how, text });
  }

  /** The first `count` things told that have `name`, once there are so many. */
  async until(name: keyof Told, count = 1): Promise<Told[]> {
    for (;;) {
      const found = this.told.filter((each) => each[name] !== undefined);
      if (found.length >= count) return found.slice(0, count);
      await new Promise<void>((look) => {
        this.#look = look;
      });
    }
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#child.once("exit", resolve));
    this.kill();
    await gone;
  }
}

/** Passes requests on to a host, and loses every third answer, if it is told to. */
async function relay(
  target: string,
  loses: boolean,
): Promise<AsyncDisposable & { url: string; lost(): number }> {
  let count = 0;
  let lost = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = await fetch(new URL(request.url ?? "/", target), {
      method: "POST",
      headers: { authorization: request.headers.authorization ?? "" },
      body: Buffer.concat(chunks),
    });
    const text = await answer.text();
    count += 1;
    if (loses && count % 3 === 0) {
      lost += 1;
      return void response.destroy();
    }
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lost: () => lost,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** Two processes of one agent, and what somebody sees who looks at their leases. */
interface Scene extends AsyncDisposable {
  readonly a: Process;
  readonly b: Process;
  /** Who owns the thread. */
  owner(): Promise<string | undefined>;
}

const SECRET = "a secret that the processes share";

for (const [backend, start] of Object.entries({ upstash: redisHost, http: durableObjectHost })) {
  runtime(backend, start);
}

function runtime(backend: string, start: () => Promise<RemoteHost>): void {
  describe(`Mastra's own runtime, in several processes, over ${backend}`, {
    timeout: 600_000,
  }, () => {
    let folder: string;
    let host: RemoteHost;
    let serial = 0;
    before(async () => {
      await install(RUNTIME);
      folder = await mkdtemp(join(tmpdir(), "leasehold-mastra-"));
      host = await start();
    });
    after(async () => {
      await host.close();
      await rm(folder, { recursive: true, force: true });
    });

    async function scene(hosting: "sure" | "shaky" | "none"): Promise<Scene> {
      const { url, token } = host;
      const thread = `thread ${++serial}`;
      const way = await relay(url, hosting === "shaky");
      const env = {
        SOCKET: join(folder, `${serial}.sock`),
        ...{ THREAD: thread, SECRET },
        RUN_MS: String(RUN_MS),
        MASTRA_AGENT_THREAD_LEASE_TTL_MS: String(TTL_MS),
        ...(hosting !== "none" && { BACKEND: backend, LEASE_HOST: way.url, LEASE_TOKEN: token }),
      };
      const leases = new LeaseClient(host.carrier());
      const onlooker = leaseProvider(leases, { secret: SECRET });
      const a = new Process(env);
      await a.until("ready");
      const b = new Process(env);
      await b.until("ready");
      return {
        ...{ a, b },
        owner: () => onlooker.getLeaseOwner(`resource\0${thread}`),
        async [Symbol.asyncDispose]() {
          for (const each of [a, b]) await each[Symbol.asyncDispose]();
          await way[Symbol.asyncDispose]();
          assert.equal(way.lost() > 0, hosting === "shaky");
          for (const { told } of [a, b]) {
            assert.deepEqual(
              told.filter(({ uncaught }) => uncaught !== undefined),
              [],
            );
          }
        },
      };
    }

    /** What the two were told of who sends at the same time. */
    async function race({ a, b }: Scene): Promise<[Told, Told]> {
      a.say("from a");
      b.say("from b");
      const [[fromA], [fromB]] = await Promise.all([a.until("said"), b.until("said")]);
      return [fromA as Told, fromB as Told];
    }

    test("without leases both processes run: what the others would see if leases did nothing", async () => {
      await using both = await scene("none");
      const [fromA, fromB] = await race(both);
      assert.deepEqual([fromA.action, fromB.action], ["wake", "wake"]);
      assert.notEqual(fromA.runId, fromB.runId);
    });

    for (const leases of ["sure", "shaky"] as const) {
      const though = leases === "shaky" ? ", though every third answer is lost" : "";

      test(`of two that wake a thread one runs, and gets what the other was sent${though}`, async () => {
        await using both = await scene(leases);
        const [fromA, fromB] = await race(both);
        assert.deepEqual([fromA.action, fromB.action].sort(), ["deliver", "wake"]);
        assert.equal(fromA.runId, fromB.runId);
        const winner = fromA.action === "wake" ? both.a : both.b;
        const loser = winner === both.a ? both.b : both.a;
        const [, second] = await winner.until("model", 2);
        assert.match(String(second?.model), /from a.*from b|from b.*from a/);
        assert.deepEqual(
          loser.told.filter(({ model }) => model !== undefined),
          [],
        );
      });

      test(`a queue goes from run to run, and the thread is never free in between${though}`, async () => {
        await using both = await scene(leases);
        const { a, owner } = both;
        a.say("one", "queue");
        await a.until("model");
        a.say("two", "queue");
        a.say("three", "queue");
        await a.until("said", 3);
        const owners: (string | undefined)[] = [];
        while (owners.at(-1) !== undefined || owners.length === 0) {
          const present = await owner();
          if (present !== owners.at(-1)) owners.push(present);
        }
        const said = await a.until("said", 3);
        const runs = ["one", "two", "three"].map(
          (text) => said.find((each) => each.said === text)?.runId,
        );
        assert.deepEqual(owners, [...runs, undefined]);
        assert.equal(new Set(runs).size, 3);
      });
    }

    test("after a process has died another one runs when the term is over, and not before", async () => {
      await using both = await scene("sure");
      const { a, b, owner } = both;
      a.say("from a");
      const [{ runId: dead } = {}] = await a.until("said");
      a.kill();
      b.say("too early: lost");
      const [early] = await b.until("said");
      assert.deepEqual([early?.action, early?.runId], ["deliver", dead]);
      while ((await owner()) !== undefined) {
        await new Promise((wake) => setTimeout(wake, 50));
      }
      b.say("in time");
      const [, late] = await b.until("said", 2);
      assert.equal(late?.action, "wake");
      const [run] = await b.until("model");
      assert.doesNotMatch(String(run?.model), /too early/);
    });
  });
}
