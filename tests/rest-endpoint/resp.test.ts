import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeCommand, type Reply, ReplyParser } from "./resp.ts";

const bulk = (text: string): Reply => ({ kind: "bulk", bytes: Buffer.from(text) });

const CASES: [string, Reply][] = [
  ["+OK\r\n", { kind: "simple", text: "OK" }],
  ["-ERR no\r\n", { kind: "error", text: "ERR no" }],
  [":-9223372036854775808\r\n", { kind: "integer", digits: "-9223372036854775808" }],
  ["$-1\r\n", { kind: "bulk", bytes: null }],
  ["$0\r\n\r\n", bulk("")],
  ["$4\r\na\r\nb\r\n", bulk("a\r\nb")],
  ["*-1\r\n", { kind: "array", items: null }],
  ["*0\r\n", { kind: "array", items: [] }],
  [
    "*3\r\n*1\r\n:1\r\n*0\r\n$1\r\nx\r\n",
    {
      kind: "array",
      items: [
        { kind: "array", items: [{ kind: "integer", digits: "1" }] },
        { kind: "array", items: [] },
        bulk("x"),
      ],
    },
  ],
];

test("each reply is read", () => {
  for (const [wire, reply] of CASES) {
    assert.deepEqual(new ReplyParser().push(Buffer.from(wire)), [reply]);
  }
});

test("replies cut at every byte are read the same", () => {
  const parser = new ReplyParser();
  const bytes = Buffer.from(CASES.map(([wire]) => wire).join(""));
  const replies = [...bytes].flatMap((byte) => parser.push(Buffer.of(byte)));
  assert.deepEqual(
    replies,
    CASES.map(([, reply]) => reply),
  );
});

test("lengths in a command count bytes, not characters", () => {
  assert.equal(encodeCommand(["GET", "é"]).toString(), "*2\r\n$3\r\nGET\r\n$2\r\né\r\n");
});

test("bytes that are not RESP2 throw", () => {
  assert.throws(() => new ReplyParser().push(Buffer.from("HTTP/1.1\r\n")), /not RESP2/);
});
