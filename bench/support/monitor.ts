/** Counts what a Redis executes, whoever asked for it. */

import { connect, type Socket } from "node:net";

/** Commands by who ran them. Upstash bills both. */
export interface Count {
  /** Sent by clients. */
  readonly sent: number;
  /** Run by scripts. */
  readonly inScript: number;
}

/** Keeps what MONITOR says, and reads it only when the work is over, to take no time from it. */
export class Monitor implements Disposable {
  readonly #socket: Socket;
  #chunks: Buffer[] = [];
  #markers = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on("data", (chunk) => this.#chunks.push(chunk));
  }

  static async open(port: number): Promise<Monitor> {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    const monitor = new Monitor(socket);
    socket.write("MONITOR\r\n");
    await monitor.#until("+OK");
    return monitor;
  }

  /** What the work costs, provided nothing else uses the server meanwhile. */
  async during(port: number, work: () => Promise<unknown>): Promise<Count> {
    this.#chunks = [];
    await work();
    this.#markers += 1;
    const marker = `bench-marker-${this.#markers}`;
    const other = connect({ port, host: "127.0.0.1" });
    other.resume();
    other.write(`ECHO ${marker}\r\n`);
    const text = await this.#until(marker);
    other.destroy();
    const lines = text.slice(0, text.indexOf(marker)).split("\r\n").slice(0, -1);
    const inScript = lines.filter((line) => /^\+\S+ \[\d+ lua\]/.test(line)).length;
    return { sent: lines.length - inScript, inScript };
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  async #until(text: string): Promise<string> {
    for (;;) {
      const heard = Buffer.concat(this.#chunks).toString("latin1");
      if (heard.includes(text)) return heard;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}
