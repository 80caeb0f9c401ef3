import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { BackendError, type WireRequest, type WireResponse } from "leasehold";
import { redis } from "leasehold/redis";

/** What a server does with a command: the reply, or an error. */
type Answers = (command: string[]) => unknown;

const OP = "0123456789abcdef0123456789abcdef";
const INSPECT: WireRequest = { v: 1, operation: "inspect", key: "k", op: OP };
const LIST: WireRequest = { v: 1, operation: "list", key: "", op: OP };

/** What a request comes to at such a server, and the commands it was sent. */
async function asked(request: WireRequest, answers: Answers) {
  const commands: string[][] = [];
  const host = redis({
    send: async (command) => {
      commands.push(command);
      const answer = answers(command);
      if (answer instanceof Error) throw answer;
      return answer;
    },
    allowEviction: true,
  });
  const { signal } = new AbortController();
  return {
    answer: await host.call(request, { signal, timeoutMs: 1_000, rebind: false }),
    commands,
  };
}

/** What an error comes to. */
async function meaning(message: string): Promise<WireResponse | undefined> {
  const outcome = asked(INSPECT, () => new Error(message));
  return outcome.then(
    ({ answer }) => answer,
    (error) => {
      assert.ok(BackendError.is(error), String(error));
      assert.equal(error.verdict, undefined);
      return undefined;
    },
  );
}

const ERRORS: readonly [string, WireResponse["code"], string, boolean][] = [
  ["WRONGPASS invalid or missing auth token", "DENIED", "unauthorized", false],
  ["NOAUTH Authentication required.", "DENIED", "unauthorized", false],
  ["ERR Unauthorized", "DENIED", "unauthorized", false],
  ["ERR unknown command 'EVALSHA', with args beginning with: '0f' ", "DENIED", "no-scripts", false],
  ["ERR unknown command `EVAL`, with args beginning with: `0f`, ", "DENIED", "no-scripts", false],
  ["ERR max daily request limit exceeded. Limit: 10000", "UNAVAILABLE", "quota", false],
  ["ERR max requests limit exceeded. Limit: 500000", "UNAVAILABLE", "quota", false],
  ["READONLY You can't write against a read only replica.", "UNAVAILABLE", "read-only", true],
  [
    "ERR Error running script (call to f_0a): @user_script:1: -READONLY You can't write",
    "UNAVAILABLE",
    "read-only",
    true,
  ],
  [
    "MISCONF Redis is configured to save RDB snapshots, but it's",
    "UNAVAILABLE",
    "cannot-persist",
    true,
  ],
  ["NOREPLICAS Not enough good replicas to write.", "UNAVAILABLE", "cannot-persist", true],
  ["LOADING Redis is loading the dataset in memory", "UNAVAILABLE", "loading", true],
  ["BUSY Redis is busy running a script.", "UNAVAILABLE", "busy", true],
  ["CLUSTERDOWN Hash slot not served", "UNAVAILABLE", "cluster-down", true],
  ["MASTERDOWN Link with MASTER is down", "UNAVAILABLE", "cluster-down", true],
  ["MOVED 3999 127.0.0.1:6381", "INVALID", "cluster", false],
  ["ASK 3999 127.0.0.1:6381", "INVALID", "cluster", false],
  ["CROSSSLOT Keys in request don't hash to the same slot", "INVALID", "cluster", false],
  ["OOM command not allowed when used memory > 'maxmemory'.", "UNAVAILABLE", "out-of-memory", true],
  ["WRONGTYPE Operation against a key holding", "UNAVAILABLE", "foreign-value", false],
  ["ERR value is not an integer or out of range", "UNAVAILABLE", "foreign-value", false],
];

describe("Redis replies: errors", () => {
  test("are told by their words", async () => {
    for (const [message, code, reason, isPassing] of ERRORS) {
      const refused = await meaning(message);
      assert.deepEqual([refused?.code, refused?.reason], [code, reason], message);
      assert.equal(refused?.retryAfterMs !== undefined, isPassing, message);
    }
  });

  test("that leave it open what happened are no refusal", async () => {
    for (const message of [
      "ERR internal error",
      "ERR LOADING, it said",
      "NOSCRIPT again",
      "<html>502 Bad Gateway</html>",
    ]) {
      assert.equal(await meaning(message), undefined, message);
    }
  });

  test("about a missing permission name it, however the server puts it", async () => {
    const script = (what: string) =>
      `ERR The user executing the script can't ${what} script: 0a1b, on @user_script:1.`;
    for (const [message, named] of [
      ["NOPERM this user has no permissions to run the 'eval' command", "may not run EVAL:"],
      [
        "NOPERM User lease has no permissions to run the 'client|info' command",
        "may not run CLIENT|INFO:",
      ],
      ["ERR ACL failure in script: no permissions to run the 'set' command", "may not run SET:"],
      [script("run this command or subcommand"), "may not run a command"],
      [
        script("access at least one of the keys mentioned in the command arguments"),
        "may not touch the keys",
      ],
      ["NOPERM No permissions to access a key", "may not touch the keys"],
      [script("publish to the channel mentioned in the command"), "may not publish"],
    ] as const) {
      const refused = await meaning(message);
      assert.deepEqual([refused?.code, refused?.reason], ["DENIED", "not-permitted"]);
      assert.ok(refused?.message?.includes(named), `${message} became ${refused?.message}`);
    }
  });

  test("are not told by what they quote of the command", async () => {
    for (const word of ["NOSCRIPT", "WRONGPASS", "NOPERM", "READONLY", "OOM", "unknown command"]) {
      for (const message of [
        `ERR internal error, args: 'leasehold:{k:${word}}:lease'`,
        `ERR internal error, command was: ["evalsha","${word}"]`,
        `ERR internal error near \`${word}\``,
      ]) {
        assert.equal(await meaning(message), undefined, message);
      }
      const refused = await meaning(`ERR unknown command 'EVAL', with args: '${word}'`);
      assert.equal(refused?.reason, "no-scripts");
    }
  });

  test("go no further themselves", async () => {
    const secret = "f00df00df00df00df00df00df00df00d";
    for (const [message] of [...ERRORS, ["ERR what"] as const]) {
      for (const text of [`${message} ${secret}`, message.replace(" ", ` ${secret} `)]) {
        const answer = await asked(INSPECT, () => new Error(text)).catch((error) => error);
        assert.ok(!`${JSON.stringify(answer)}${answer.message}`.includes(secret), text);
      }
    }
  });
});

describe("Redis replies: the script", () => {
  test("is sent by its hash, as text where it is missing, and without the flag where that is refused", async () => {
    const missing = new Error("NOSCRIPT No matching script. Please use EVAL.");
    for (const refusal of [
      "ERR Unexpected flag in script shebang: allow-key-locking",
      "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'",
    ]) {
      const { answer, commands } = await asked(INSPECT, ([name, script = ""]) => {
        if (name === "EVALSHA") return missing;
        if (script.startsWith("#!lua flags=allow-key-locking\n")) return new Error(refusal);
        return '{"v":1,"outcome":"cancelled"}';
      });
      assert.equal(answer.outcome, "cancelled");
      const names = commands.map(([name]) => name);
      assert.deepEqual(names, ["EVALSHA", "EVAL", "EVALSHA", "EVAL"]);
      const [first, second, third] = commands;
      assert.notEqual(third?.[1], first?.[1]);
      assert.deepEqual(second?.slice(2), first?.slice(2));
    }
    await assert.rejects(asked(INSPECT, () => missing));
  });

  test("has both records of a key in one slot, whatever the key is", async () => {
    for (const key of ["k", "{", "}{", "a}b", "ключ", "\0"]) {
      const { commands } = await asked({ ...INSPECT, key }, () => '{"v":1,"outcome":"cancelled"}');
      const names = ["lease", "entries"].map((what) => `leasehold:{k:${key}}:${what}`);
      assert.deepEqual(commands[0]?.slice(2, 5), ["2", ...names]);
    }
  });

  test("is the only one whose answer counts", async () => {
    for (const reply of [null, "", "OK", 1, [], ["queued", "1"], "{", "[]", "null", '{"v":1}']) {
      await assert.rejects(
        asked(INSPECT, () => reply),
        (error) => BackendError.is(error) && /unreadable/.test(error.message),
        JSON.stringify(reply),
      );
    }
  });
});

describe("Redis replies: lists", () => {
  /** A reply to SCAN. */
  const found = (cursor: string, keys: readonly string[]) => [
    cursor,
    keys.map((key) => `leasehold:{k:${key}}:lease`),
  ];
  const listed = (states: readonly unknown[]) =>
    JSON.stringify({ v: 1, outcome: "listed", states });

  test("the names are gone through, and the documents found are read", async () => {
    const scans = [found("17", []), found("5", ["a", "b", "a", "c"])];
    const state = { key: "c", revision: "7", waiters: 1, holders: [] };
    const { answer, commands } = await asked({ ...LIST, prefix: "a*[b]?\\c" }, ([name]) =>
      name === "SCAN" ? scans.shift() : listed([state]),
    );
    assert.deepEqual(answer, { v: 1, outcome: "listed", states: [state], after: "5" });
    const [first, second, read] = commands;
    const pattern = "leasehold:{k:a\\*\\[b\\]\\?\\\\c*}:lease";
    assert.deepEqual(first, ["SCAN", "0", "MATCH", pattern, "COUNT", "100"]);
    // Nothing found: it looks at more.
    assert.deepEqual(second, ["SCAN", "17", "MATCH", pattern, "COUNT", "200"]);
    const names = ["a", "b", "c"].flatMap((key) =>
      ["lease", "entries"].map((what) => `leasehold:{k:${key}}:${what}`),
    );
    assert.deepEqual(read?.slice(2, 9), ["6", ...names]);
  });

  test("what a step finds is read in hundreds and told in one answer", async () => {
    const keys = Array.from({ length: 250 }, (_, index) => `key-${index}`);
    const { answer, commands } = await asked(LIST, ([name, , count]) =>
      name === "SCAN" ? found("5", keys) : listed(Array(Number(count) / 2).fill({ key: "k" })),
    );
    assert.equal(answer.states?.length, 250);
    assert.deepEqual(
      commands.slice(1).map(([, , count]) => count),
      ["200", "200", "100"],
    );
  });

  test("without a find it ends with the names, or after eight steps", async () => {
    const nothing = { v: 1, outcome: "listed", states: [] };
    const { answer } = await asked(LIST, () => found("0", []));
    assert.deepEqual(answer, nothing);
    const long = await asked(LIST, () => found("9", []));
    assert.deepEqual(long.answer, { ...nothing, after: "9" });
    assert.deepEqual(
      long.commands.map((command) => command[5]),
      ["100", "200", "400", "800", "800", "800", "800", "800"],
    );
  });

  test("it goes on only where an answer of ours ended", async () => {
    for (const after of ["", "-1", "1 MATCH", "x"]) {
      const { answer, commands } = await asked({ ...LIST, after }, () => found("0", []));
      assert.deepEqual([answer.code, answer.reason], ["INVALID", "after"]);
      assert.deepEqual(commands, []);
    }
  });

  test("a server's error is told, and what is no list is none", async () => {
    const { answer } = await asked(LIST, () => new Error("LOADING Redis is loading"));
    assert.deepEqual([answer.code, answer.reason], ["UNAVAILABLE", "loading"]);
    await assert.rejects(asked(LIST, () => "OK"));
  });
});
