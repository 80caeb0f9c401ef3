import { argument, type Check, callback, kindOf } from "../../lease/check.js";
import { invalid } from "../../lease/errors.js";
import { type Fenced, type FenceGuard, fencedOut, record } from "./fenced.js";

/** A guard in Redis, with writes that it checks. */
export interface RedisGuard extends FenceGuard {
  /**
   * Notes the fence and runs the commands, in one script: nothing comes between them. Each command's
   * first argument is the one key it touches; in a cluster it has the lease's key as its hash tag,
   * `{order:42}:state` for a lease on `order:42`.
   *
   * @returns The commands' replies.
   * @throws LeaseError `LOST`, reason `fenced-out`, with nothing written. If a command fails, what
   * it fails with: Redis keeps what the commands before it have written.
   */
  write(lease: Fenced, ...commands: (readonly string[])[]): Promise<unknown[]>;
}

const COMMANDS: Check = {
  must: "arrays of a command's name, its key and its arguments, all of them text",
  is: (value) =>
    (value as unknown[]).every(
      (command) =>
        Array.isArray(command) &&
        command.length >= 2 &&
        command.every((part) => typeof part === "string"),
    ),
};

// All fences have as many digits, so that they sort as text: a Lua number is not exact above 2^53.
const SCRIPT = `local seen = redis.call('GET', KEYS[1])
if seen and seen > ARGV[1] then return false end
redis.call('SET', KEYS[1], ARGV[1])
local replies, at = {}, 2
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  replies[#replies + 1] = redis.call(unpack(ARGV, at + 1, last))
  at = last + 1
end
return replies`;

/**
 * A guard in Redis: `leasehold:guard:{<key>}:<slot>`, kept for ever. Turn eviction off.
 *
 * @param send - Sends one command, such as `([name, ...args]) => client.call(name, args)`.
 */
export function redisFence(send: (command: readonly string[]) => PromiseLike<unknown>): RedisGuard {
  argument("send", callback, send);
  const write: RedisGuard["write"] = async (lease, ...commands) => {
    const { key, slot, fence } = record(lease);
    argument("commands", COMMANDS, commands);
    const touched = new Set(commands.map(([, name = ""]) => name));
    const keys = [`leasehold:guard:{${key}}:${slot}`, ...touched];
    const values = commands.flatMap((command) => [String(command.length), ...command]);
    const replies = await send(["EVAL", SCRIPT, String(keys.length), ...keys, fence, ...values]);
    if (Array.isArray(replies)) return replies;
    // As a client puts that nothing was written.
    if (replies === null || replies === false) throw fencedOut(lease);
    throw invalid("send", `must return what the server replies, not ${kindOf(replies)}`);
  };
  return {
    write,
    async advance(lease) {
      await write(lease);
    },
  };
}
