import { type CommandTable, nameOf, refusal } from "./commands.ts";
import type { CommandBill } from "./log.ts";
import type { Replica } from "./replica.ts";
import type { Access, Understood } from "./request.ts";
import { type Command, errorReply, type Reply } from "./resp.ts";
import type { Rewritten, ScriptRewriter } from "./shebang.ts";
import type { Upstream } from "./upstream.ts";

export interface Conditions {
  readonly access: Access;
  readonly syncToken: string | undefined;
  readonly scriptFlush: boolean;
  readonly readOnlyReplica: boolean;
}

/** Either one reply per command, or the one error that discarded a transaction. */
export type Outcome = readonly Reply[] | { readonly discarded: Reply };

const READ_ONLY_REPLICA = errorReply("READONLY You can't write against a read only replica.");
const NO_REPLY = errorReply("ERR no reply");

type Prepared = Rewritten | Reply;

export class Executor {
  readonly #upstream: Upstream;
  readonly #scripts: ScriptRewriter | undefined;
  readonly #bill: CommandBill;
  readonly #replica: Replica;

  constructor(
    upstream: Upstream,
    scripts: ScriptRewriter | undefined,
    bill: CommandBill,
    replica: Replica,
  ) {
    this.#upstream = upstream;
    this.#scripts = scripts;
    this.#bill = bill;
    this.#replica = replica;
  }

  async run(request: Understood, conditions: Conditions): Promise<Outcome> {
    const table = await this.#upstream.table();
    const prepared = request.commands.map((command) => this.#prepare(command, table, conditions));
    const atomic = request.shape === "multi-exec";
    const refused = prepared.find((entry) => !isRewritten(entry));
    if (atomic && refused && !isRewritten(refused)) return { discarded: refused };

    const sent = prepared.filter(isRewritten);
    const commands = sent.map((entry) => entry.command);
    this.#bill.noteSent(commands);
    const outcome = atomic
      ? await this.#transaction(commands)
      : await this.#sequence(commands, table, conditions);
    if (commands.some((command) => !table.reads(command))) this.#replica.noteWrite();
    if ("discarded" in outcome) return outcome;

    const replies = outcome.map((reply, index) => sent[index]?.restore(reply) ?? reply).values();
    return prepared.map((entry) =>
      isRewritten(entry) ? (replies.next().value ?? NO_REPLY) : entry,
    );
  }

  /** A stream's command is refused only to the read-only token. */
  async refuseStream(request: Understood, access: Access): Promise<Reply | undefined> {
    if (access === "full") return undefined;
    const table = await this.#upstream.table();
    return request.commands.map((command) => table.refusalForReader(command)).find(Boolean);
  }

  #prepare(command: Command, table: CommandTable, conditions: Conditions): Prepared {
    const forbidden =
      refusal(command) ??
      (conditions.access === "read-only" ? table.refusalForReader(command) : undefined) ??
      (conditions.readOnlyReplica && table.writes(command) ? READ_ONLY_REPLICA : undefined);
    if (forbidden) return forbidden;
    return this.#scripts?.rewrite(command) ?? { command, restore: (reply) => reply };
  }

  async #sequence(
    commands: readonly Command[],
    table: CommandTable,
    conditions: Conditions,
  ): Promise<readonly Reply[]> {
    if (commands.length === 0) return [];
    const copy = await this.#replica.serving(commands, table, conditions.syncToken);
    // WAIT holds up its connection and speaks for the writes made there.
    if (commands.some((command) => nameOf(command) === "wait")) {
      const own = await this.#upstream.dedicated();
      try {
        return await own.sendAll(commands);
      } finally {
        own.close();
      }
    }
    const connection = copy ?? (await this.#upstream.main());
    if (!conditions.scriptFlush) return connection.sendAll(commands);
    const flushed = commands.flatMap((command) => flushBefore(command));
    const replies = await connection.sendAll(flushed.map(({ command }) => command));
    return replies.filter((_, index) => flushed[index]?.asked);
  }

  async #transaction(commands: readonly Command[]): Promise<Outcome> {
    const own = await this.#upstream.dedicated();
    try {
      const replies = await own.sendAll([["MULTI"], ...commands, ["EXEC"]]);
      const rejected = replies.slice(0, -1).find((reply) => reply.kind === "error");
      if (rejected) return { discarded: rejected };
      const result = replies.at(-1) ?? NO_REPLY;
      return result.kind === "array" ? (result.items ?? []) : { discarded: result };
    } finally {
      own.close();
    }
  }
}

function flushBefore(command: Command): { command: Command; asked: boolean }[] {
  const asked = { command, asked: true };
  if (!nameOf(command).startsWith("evalsha")) return [asked];
  return [{ command: ["SCRIPT", "FLUSH"], asked: false }, asked];
}

function isRewritten(entry: Prepared): entry is Rewritten {
  return "restore" in entry;
}
