import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { cannedPayload, send, sendEmpty, sendPart } from "./answer.ts";
import {
  type Encoding,
  errorPayload,
  jsonMany,
  jsonOne,
  type Payload,
  resp2Many,
  resp2One,
} from "./encode.ts";
import type { Executor, Outcome } from "./execute.ts";
import { executes, type FaultPlan, type Faults } from "./faults.ts";
import type { RequestLog, RequestRecord } from "./log.ts";
import { ConnectionLost } from "./redis.ts";
import type { Replica } from "./replica.ts";
import {
  type Access,
  access,
  readBody,
  type Target,
  TooLarge,
  targetOf,
  type Understood,
  understand,
} from "./request.ts";
import { errorReply } from "./resp.ts";
import type { Streams } from "./sse.ts";
import type { Throttle } from "./throttle.ts";

interface Parts {
  readonly tokens: { readonly token: string; readonly readOnlyToken: string | undefined };
  readonly maxRequestBytes: number;
  readonly encodeNestedOk: boolean;
  readonly executor: Executor;
  readonly faults: Faults;
  readonly requests: RequestLog;
  readonly replica: Replica;
  readonly streams: Streams;
  readonly throttle: Throttle;
  readonly closing: AbortSignal;
}

interface Format {
  readonly resp2: boolean;
  readonly encoding: Encoding;
}

interface Admitted {
  readonly request: Understood;
  readonly access: Access;
  readonly format: Format;
}

/** One admitted request on its way through. */
interface Work extends Admitted {
  readonly response: ServerResponse;
  readonly record: RequestRecord;
  readonly syncToken: string | undefined;
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
    const target = targetOf(incoming);
    const admitted = await this.#admit(incoming, target);
    const record = this.#record(incoming, target, admitted);
    if (!("request" in admitted)) {
      this.#answer(response, record, admitted);
      return;
    }
    const syncToken = incoming.headers["upstash-sync-token"]?.toString();
    const plan = this.#parts.faults.plan(record);
    await this.#carryOut({ ...admitted, response, record, syncToken, plan });
  }

  async #admit(incoming: IncomingMessage, target: Target): Promise<Admitted | Payload> {
    const granted = access(incoming, target, this.#parts.tokens);
    const body = await this.#body(incoming);
    if (!granted) return errorPayload(401, "WRONGPASS invalid or missing auth token");
    if (!Buffer.isBuffer(body)) return body;
    const request = understand(incoming.method ?? "", target, body);
    if (!("commands" in request)) return request;
    const format = this.#format(incoming, request);
    return "status" in format ? format : { request, access: granted, format };
  }

  async #body(incoming: IncomingMessage): Promise<Buffer | Payload> {
    try {
      return await readBody(incoming, this.#parts.maxRequestBytes);
    } catch (error) {
      if (error instanceof TooLarge) return error.payload;
      throw error;
    }
  }

  #format(incoming: IncomingMessage, request: Understood): Format | Payload {
    const wanted = incoming.headers["upstash-response-format"] ?? "json";
    const base64 = incoming.headers["upstash-encoding"] === "base64";
    if (wanted !== "json" && wanted !== "resp2") {
      return errorPayload(400, "ERR unsupported response format");
    }
    if (wanted === "resp2" && base64) {
      return errorPayload(400, "ERR resp2 responses cannot be base64 encoded");
    }
    return {
      // A transaction is answered in JSON whatever was asked for.
      resp2: wanted === "resp2" && request.shape !== "multi-exec",
      encoding: { base64, encodeNestedOk: this.#parts.encodeNestedOk },
    };
  }

  #record(incoming: IncomingMessage, target: Target, result: Admitted | Payload): RequestRecord {
    const { authorization: _, ...headers } = incoming.headers;
    const request = "request" in result ? result.request : undefined;
    return this.#parts.requests.add({
      method: incoming.method ?? "",
      path: target.path,
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
      const discarded = request.shape === "multi-exec";
      return encode(work, discarded ? { discarded: error } : request.commands.map(() => error));
    }
    const conditions = { ...plan, access: work.access, syncToken: work.syncToken };
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
        this.#answer(response, record, jsonOne(refused, work.format.encoding));
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
    send(response, payload, this.#parts.replica.nextToken());
  }

  async #pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.#parts.closing });
  }
}

function encode(work: Work, outcome: Outcome): Payload {
  const { resp2, encoding } = work.format;
  if ("discarded" in outcome) return jsonOne(outcome.discarded, encoding);
  if (work.request.shape !== "single") {
    return resp2 ? resp2Many(outcome) : jsonMany(outcome, encoding);
  }
  const reply = outcome[0] ?? errorReply("ERR no reply");
  return resp2 ? resp2One(reply) : jsonOne(reply, encoding);
}
