import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { cannedPayload, send, sendEmpty, sendPart } from "./answer.ts";
import { errorPayload, jsonMany, jsonOne, type Payload } from "./encode.ts";
import type { Executor } from "./execute.ts";
import { executes, type FaultPlan, type Faults } from "./faults.ts";
import type { RequestLog, RequestRecord } from "./log.ts";
import { ConnectionLost } from "./redis.ts";
import { type Access, access, readBody, type Understood, understand } from "./request.ts";
import { errorReply, type Reply } from "./resp.ts";
import type { Streams } from "./sse.ts";
import type { Throttle } from "./throttle.ts";

interface Parts {
  readonly tokens: { readonly token: string; readonly readOnlyToken: string | undefined };
  readonly executor: Executor;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly streams: Streams;
  readonly throttle: Throttle;
  readonly closing: AbortSignal;
}

interface Admitted {
  readonly request: Understood;
  readonly access: Access;
  readonly base64: boolean;
}

/** One admitted request on its way through. */
interface Work extends Admitted {
  readonly response: ServerResponse;
  readonly record: RequestRecord;
  readonly plan: FaultPlan;
}

const DATABASE_DOWN = errorPayload(503, "ERR the database cannot be reached");

/** Takes HTTP requests through authentication, parsing, faults and execution to the answer. */
export class Handler {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#handle(incoming, response);
    } catch (error) {
      response.destroy();
      const nobodyLeft = incoming.errored !== null || this.#parts.closing.aborted;
      if (!nobodyLeft) throw error;
    }
  }

  async #handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const admitted = await this.#admit(incoming);
    const record = this.#record(incoming, admitted);
    if (!("request" in admitted)) {
      this.#answer(response, record, admitted);
      return;
    }
    const plan = this.#parts.faults.plan(record);
    await this.#carryOut({ ...admitted, response, record, plan });
  }

  async #admit(incoming: IncomingMessage): Promise<Admitted | Payload> {
    const granted = access(incoming, this.#parts.tokens);
    const body = await readBody(incoming);
    if (!granted) return errorPayload(401, "WRONGPASS invalid or missing auth token");
    const request = understand(incoming.method ?? "", incoming.url ?? "/", body);
    if (!("commands" in request)) return request;
    const base64 = incoming.headers["upstash-encoding"] === "base64";
    return { request, access: granted, base64 };
  }

  #record(incoming: IncomingMessage, result: Admitted | Payload): RequestRecord {
    const { authorization: _, ...headers } = incoming.headers;
    const request = "request" in result ? result.request : undefined;
    return this.#parts.requests.add({
      method: incoming.method ?? "",
      path: incoming.url ?? "/",
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, String(value)]),
      ),
      ...(request && { shape: request.shape }),
      commands: (request?.commands ?? []).map((command) => command.map(String)),
    });
  }

  async #carryOut(work: Work): Promise<void> {
    const { terminal, delayBefore } = work.plan;
    await this.#pause(delayBefore);
    await this.#queueBehindRate(work);
    if (terminal && !executes(terminal)) await this.#finish(work, undefined);
    else if (work.request.shape === "stream") await this.#stream(work);
    else await this.#finish(work, await this.#execute(work));
  }

  async #queueBehindRate(work: Work): Promise<void> {
    const wait = this.#parts.throttle.book(work.request.commands.length);
    if (wait <= 0) return;
    this.#parts.faults.note("throttle", work.record);
    await this.#pause(wait);
  }

  async #execute(work: Work): Promise<Payload> {
    const { request, plan } = work;
    if (plan.terminal?.kind === "reply-error") {
      const error = errorReply(plan.terminal.error);
      return encode(
        work,
        request.commands.map(() => error),
      );
    }
    const conditions = { ...plan, access: work.access };
    try {
      if (plan.duplicate) await this.#parts.executor.run(request, conditions);
      return encode(work, await this.#parts.executor.run(request, conditions));
    } catch (error) {
      if (error instanceof ConnectionLost) return DATABASE_DOWN;
      throw error;
    }
  }

  async #stream(work: Work): Promise<void> {
    const { request, response, record } = work;
    try {
      const refused = await this.#parts.executor.refuseStream(request, work.access);
      if (refused) {
        this.#answer(response, record, jsonOne(refused, work.base64));
        return;
      }
      for (const command of request.commands) await this.#parts.streams.serve(command, response);
      record.status = response.statusCode;
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      this.#answer(response, record, DATABASE_DOWN);
    }
  }

  /** `payload` is what a sound server would answer, if the request was executed. */
  async #finish(work: Work, payload: Payload | undefined): Promise<void> {
    const { response, record, plan } = work;
    await this.#pause(plan.delayAfter);
    const { terminal } = plan;
    switch (terminal?.kind) {
      case "hang":
        return;
      case "drop-before":
      case "drop-after":
        response.destroy();
        return;
      case "empty":
        record.status = 204;
        sendEmpty(response);
        return;
      case "status":
      case "quota":
        this.#answer(response, record, cannedPayload(terminal));
        return;
      case "truncate":
        if (payload) await sendPart(response, payload, terminal);
        return;
      default:
        if (payload) this.#answer(response, record, payload);
    }
  }

  #answer(response: ServerResponse, record: RequestRecord, payload: Payload): void {
    record.status = payload.status;
    send(response, payload);
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#parts.closing });
  }
}

function encode(work: Work, replies: readonly Reply[]): Payload {
  if (work.request.shape === "pipeline") return jsonMany(replies, work.base64);
  return jsonOne(replies[0] ?? errorReply("ERR no reply"), work.base64);
}
