import { createHash } from "node:crypto";
import { nameOf } from "./commands.ts";
import { type Command, errorReply, type Reply } from "./resp.ts";

const FLAG = "allow-key-locking";
const MISPLACED = new RegExp(`^#!lua\\b.*\\b${FLAG}\\b.*$`, "m");

// Shadows `redis` on a line of the script's own, so that line numbers in errors stay right. Keys
// are found by the server's COMMAND GETKEYS at the moment of the call, before the call is made.
const KEY_GUARD = [
  "local redis = (function(redis, keys, refusal) local declared = {}",
  "for i = 1, #keys do declared[keys[i]] = true end",
  "local function check(...) local name = string.lower(tostring((...)))",
  "if name == 'flushdb' or name == 'flushall' then",
  "return {err = 'ERR ' .. name .. ' is not allowed in this Lua script'} end",
  "local found = redis.pcall('COMMAND', 'GETKEYS', ...)",
  "if type(found) ~= 'table' or found.err then return nil end",
  "for i = 1, #found do if not declared[found[i]] then",
  "return {err = refusal .. found[i]} end end end",
  "return setmetatable({",
  "call = function(...) local e = check(...) if e then error(e) end return redis.call(...) end,",
  "pcall = function(...) return check(...) or redis.pcall(...) end",
  "}, {__index = redis}) end)",
].join(" ");

const DYNAMIC_KEY = `ERR Dynamic keys are not allowed in Lua scripts when '${FLAG}' flag is set. Key was: `;
const UNDECLARED_KEY = "ERR strict endpoint: the script uses a key outside KEYS. Key was: ";

/** A MONITOR line written by the guard rather than by the script. */
export function isGuardLine(monitorLine: string): boolean {
  return monitorLine.includes(' lua] "COMMAND" "GETKEYS"');
}

export interface Rewritten {
  readonly command: Command;
  restore(reply: Reply): Reply;
}

/** Gives a plain Redis 7 the script flag it does not know, and its key rule. */
export class ScriptRewriter {
  readonly #strict: boolean;
  readonly #inner = new Map<string, string>();

  constructor(options: { readonly strict: boolean }) {
    this.#strict = options.strict;
  }

  rewrite(command: Command): Rewritten | Reply {
    switch (nameOf(command)) {
      case "eval":
      case "eval_ro":
        return this.#withScript(command, 1);
      case "evalsha":
      case "evalsha_ro":
        return this.#withSha(command);
      case "script":
        return this.#scriptCommand(command);
      default:
        return { command, restore: (reply) => reply };
    }
  }

  #scriptCommand(command: Command): Rewritten | Reply {
    const verb = String(command[1]).toLowerCase();
    if (verb === "exists") {
      const shas = command.slice(2).map((sha) => this.#innerSha(sha));
      return { command: [...command.slice(0, 2), ...shas], restore: (reply) => reply };
    }
    if (verb !== "load") return { command, restore: (reply) => reply };
    const rewritten = this.#withScript(command, 2);
    if (!("command" in rewritten)) return rewritten;
    const own = Buffer.from(sha1(String(command[2] ?? "")));
    return {
      command: rewritten.command,
      restore: (reply) => (reply.kind === "bulk" ? { kind: "bulk", bytes: own } : reply),
    };
  }

  #withScript(command: Command, index: number): Rewritten | Reply {
    const script = command[index];
    if (script === undefined) return { command, restore: (reply) => reply };
    const source = String(script);
    const misplaced = flagsOf(source).includes(FLAG) ? undefined : MISPLACED.exec(source);
    if (misplaced && this.#strict) {
      return errorReply(`ERR strict endpoint: the ${FLAG} flag is not on the script's first line`);
    }
    const outer = sha1(source);
    const body = this.#adapt(misplaced ? source.replace(MISPLACED, "") : source);
    this.#inner.set(outer, sha1(body));
    return { command: command.with(index, body), restore: rename(sha1(body), outer) };
  }

  #withSha(command: Command): Rewritten {
    const sha = command[1];
    if (sha === undefined) return { command, restore: (reply) => reply };
    const inner = this.#innerSha(sha);
    return { command: command.with(1, inner), restore: rename(String(inner), String(sha)) };
  }

  #innerSha(sha: string | Buffer): string | Buffer {
    return this.#inner.get(String(sha).toLowerCase()) ?? sha;
  }

  #adapt(source: string): string {
    const flags = flagsOf(source);
    const locking = flags.includes(FLAG);
    if (!locking && !this.#strict) return source;
    const refusal = locking ? DYNAMIC_KEY : UNDECLARED_KEY;
    const guard = `${KEY_GUARD}(redis, KEYS, ${JSON.stringify(refusal)}) `;
    if (!source.startsWith("#!")) return guard + source;
    const [first = "", ...rest] = source.split("\n");
    return `${withoutFlag(first)}\n${guard}${rest.join("\n")}`;
  }
}

function firstLine(source: string): string {
  return source.split("\n", 1)[0] ?? "";
}

function flagsOf(source: string): string[] {
  const line = firstLine(source);
  if (!line.startsWith("#!lua")) return [];
  return (/\bflags=(\S*)/.exec(line)?.[1] ?? "").split(",");
}

function withoutFlag(line: string): string {
  return line.replace(/\s*\bflags=(\S*)/, (_, list: string) => {
    const kept = list.split(",").filter((flag) => flag !== FLAG);
    return kept.length > 0 ? ` flags=${kept.join(",")}` : "";
  });
}

function rename(inner: string, outer: string): (reply: Reply) => Reply {
  return (reply) =>
    reply.kind === "error" && inner !== outer
      ? errorReply(reply.text.replaceAll(inner, outer))
      : reply;
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
