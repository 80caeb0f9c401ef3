import { type CommandTable, nameOf, refusal } from "./commands.ts";
import type { CommandBill } from "./log.ts";
import type { Access, Understood } from "./request.ts";
import { type Command, errorReply, type Reply } from "./resp.ts";
import type { Rewritten, ScriptRewriter } from "./shebang.ts";
import type { Upstream } from "./upstream.ts";

export interface Conditions {
  readonly access: Access;
  readonly scriptFlush: boolean;
  readonly readOnlyReplica: boolean;
}

const READ_ONLY_REPLICA = errorReply("READONLY You can't write against a read only replica.");
const NO_REPLY = errorReply("ERR no reply");

type Prepared = Rewritten | Reply;

export class Executor {
  readonly #upstream: Upstream;
  readonly #scripts: ScriptRewriter | undefined;
  readonly #bill: CommandBill;

  constructor(upstream: Upstream, scripts: ScriptRewriter | undefined, bill: CommandBill) {
    this.#upstream = upstream;
    this.#scripts = scripts;
    this.#bill = bill;
  }

  /** One reply for each command. */
  async run(request: Understood, conditions: Conditions): Promise<readonly Reply[]> {
    const table = await this.#upstream.table();
    const prepared = request.commands.map((command) => this.#prepare(command, table, conditions));
    const sent = prepared.filter(isRewritten);
    const commands = sent.map((entry) => entry.command);
    this.#bill.noteSent(commands);
    const outcome = await this.#send(commands, conditions);
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

  async #send(commands: readonly Command[], conditions: Conditions): Promise<readonly Reply[]> {
    if (commands.length === 0) return [];
    const connection = await this.#upstream.main();
    if (!conditions.scriptFlush) return connection.sendAll(commands);
    const flushed = commands.flatMap((command) => flushBefore(command));
    const replies = await connection.sendAll(flushed.map(({ command }) => command));
    return replies.filter((_, index) => flushed[index]?.asked);
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
