import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Rng } from "./rng.ts";

/** What the proxy does to a request that it does not just pass on. */
export const FAULTS = [
  "drop-before",
  "drop-after",
  "delay-before",
  "delay-after",
  "duplicate",
] as const;
type Fault = (typeof FAULTS)[number];

/** The part of requests that meet a fault. */
const SHARE = 0.15;

/** Stands between clients and a host, and loses, delays and repeats what goes through. */
export class FaultProxy implements AsyncDisposable {
  /** How often each fault was caused. */
  readonly fired = new Map<Fault, number>(FAULTS.map((fault) => [fault, 0]));
  readonly #server = createServer((request, response) => {
    this.#handle(request, response).catch(() => response.destroy());
  });
  readonly #target: () => Promise<URL>;
  readonly #rng: Rng;

  private constructor(target: () => Promise<URL>, rng: Rng) {
    this.#target = target;
    this.#rng = rng;
  }

  static async start(target: () => Promise<URL>, rng: Rng): Promise<FaultProxy> {
    const proxy = new FaultProxy(target, rng);
    await new Promise<void>((done) => proxy.#server.listen(0, "127.0.0.1", done));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    const gone = new AbortController();
    // A waiter that went away must not be kept waiting for here; what is late goes on all the same.
    response.on("close", () => setTimeout(() => gone.abort(), 1_000).unref());
    const forward = async () => {
      const answer = await fetch(new URL(request.url ?? "/", await this.#target()), {
        method: request.method ?? "POST",
        headers: { authorization: request.headers.authorization ?? "" },
        body,
        signal: gone.signal,
      });
      return { status: answer.status, text: await answer.text() };
    };
    // A stream carries hints only: it is passed on or cut, never delayed.
    if (request.url?.startsWith("/subscribe")) return void response.destroy();

    const fault = this.#rng.next() < SHARE ? this.#nextFault() : undefined;
    const pause = () => new Promise((wake) => setTimeout(wake, this.#rng.between(50, 900)));
    if (fault === "drop-before") return void response.destroy();
    if (fault === "delay-before") await pause();
    if (fault === "duplicate") await forward();
    const { status, text } = await forward();
    if (fault === "drop-after") return void response.destroy();
    if (fault === "delay-after") await pause();
    response.writeHead(status, { "content-type": "application/json" }).end(text);
  }

  /** In turn, so that none is left out of a short run. */
  #nextFault(): Fault {
    const total = [...this.fired.values()].reduce((sum, count) => sum + count, 0);
    const fault = FAULTS[total % FAULTS.length] as Fault;
    this.fired.set(fault, (this.fired.get(fault) ?? 0) + 1);
    return fault;
  }
}
