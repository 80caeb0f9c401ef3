import { type Command, errorReply, type Reply } from "./resp.ts";

const REFUSED = new Set(
  [
    "blmove blmpop blpop brpop brpoplpush bzmpop bzpopmax bzpopmin",
    "subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe monitor",
    "multi exec discard watch unwatch",
    "auth client hello quit reset select move swapdb",
    "asking cluster readonly readwrite migrate",
    "bgrewriteaof bgsave debug failover latency module pfdebug pfselftest psync replconf",
    "replicaof restore-asking role save shutdown slaveof slowlog sync",
  ].flatMap((line) => line.split(" ")),
);

const FOR_READERS = new Set(["echo", "ping", "subscribe"]);
const NOT_FOR_READERS = new Set(["keys", "scan"]);
const CONFIG_ALLOWED = "notify-keyspace-events";

export function nameOf(command: Command): string {
  return text(command, 0).toLowerCase();
}

function text(command: Command, index: number): string {
  return String(command[index] ?? "");
}

/** The error for a command that cannot be sent over REST, if it is one. */
export function refusal(command: Command): Reply | undefined {
  const name = nameOf(command);
  const refused =
    REFUSED.has(name) ||
    (name === "config" && !touchesOnlyKeyspaceEvents(command)) ||
    (name === "script" && text(command, 1).toLowerCase() === "debug") ||
    ((name === "xread" || name === "xreadgroup") && blocks(command));
  if (!refused) return undefined;
  return errorReply(`ERR Command is not available: '${name.toUpperCase()}'`);
}

function touchesOnlyKeyspaceEvents(command: Command): boolean {
  const verb = text(command, 1).toLowerCase();
  const length = { get: 3, set: 4 }[verb];
  return command.length === length && text(command, 2).toLowerCase() === CONFIG_ALLOWED;
}

function blocks(command: Command): boolean {
  const words = command.map((argument) => String(argument).toLowerCase());
  const options = words.slice(0, words.indexOf("streams"));
  return options.includes("block");
}

/** What the server itself says about its commands. */
export class CommandTable {
  readonly #flags = new Map<string, ReadonlySet<string>>();

  constructor(reply: Reply) {
    for (const entry of items(reply)) {
      const [name, , flags] = items(entry);
      if (name && flags) this.#flags.set(plain(name), new Set(items(flags).map(plain)));
    }
  }

  /** It changes nothing. */
  reads(command: Command): boolean {
    return this.#flags.get(nameOf(command))?.has("readonly") ?? false;
  }

  /** A replica would refuse it; scripts count, as they may write. */
  writes(command: Command): boolean {
    const name = nameOf(command);
    return (
      this.#flags.get(name)?.has("write") ||
      name === "eval" ||
      name === "evalsha" ||
      name === "fcall"
    );
  }

  /** The error that the read-only token gets for this command, if any. */
  refusalForReader(command: Command): Reply | undefined {
    const name = nameOf(command);
    if (FOR_READERS.has(name) || (this.reads(command) && !NOT_FOR_READERS.has(name)))
      return undefined;
    return errorReply(`NOPERM this user has no permissions to run the '${name}' command`);
  }
}

function items(reply: Reply): readonly Reply[] {
  return reply.kind === "array" ? (reply.items ?? []) : [];
}

function plain(reply: Reply): string {
  if (reply.kind === "bulk") return String(reply.bytes ?? "");
  return reply.kind === "simple" ? reply.text : "";
}
