import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type Command, encodeCommand, type Reply, ReplyParser } from "./resp.ts";

export interface RedisAddress {
  readonly port: number;
  readonly host?: string;
}

export class ConnectionLost extends Error {
  constructor() {
    super("the connection to redis is lost");
    this.name = "ConnectionLost";
  }
}

interface Waiter {
  resolve(reply: Reply): void;
  reject(error: Error): void;
}

/** One pipelining connection. It never reopens itself: a new one is made instead. */
export class RedisConnection {
  readonly #socket: Socket;
  readonly #parser = new ReplyParser();
  readonly #waiting: Waiter[] = [];
  readonly closed: Promise<void>;
  #alive = true;
  #listener: (reply: Reply) => void = () => {};

  private constructor(socket: Socket) {
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on("data", (chunk) => this.#receive(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      this.#alive = false;
      for (const waiter of this.#waiting.splice(0)) waiter.reject(new ConnectionLost());
      resolve();
    });
  }

  static async open(address: RedisAddress): Promise<RedisConnection> {
    const socket = connect({
      host: address.host ?? "127.0.0.1",
      port: address.port,
      noDelay: true,
    });
    try {
      await once(socket, "connect");
    } catch {
      socket.destroy();
      throw new ConnectionLost();
    }
    return new RedisConnection(socket);
  }

  get alive(): boolean {
    return this.#alive;
  }

  async send(...command: Command): Promise<Reply> {
    const [reply] = await this.sendAll([command]);
    if (!reply) throw new ConnectionLost();
    return reply;
  }

  /** Sends the commands in one write and waits for all replies. */
  sendAll(commands: readonly Command[]): Promise<Reply[]> {
    if (!this.#alive) return Promise.reject(new ConnectionLost());
    const replies = commands.map(
      () => new Promise<Reply>((resolve, reject) => this.#waiting.push({ resolve, reject })),
    );
    this.#socket.write(Buffer.concat(commands.map(encodeCommand)));
    return Promise.all(replies);
  }

  /** Sends a command after which the server talks on its own (SUBSCRIBE, MONITOR). */
  stream(command: Command, listener: (reply: Reply) => void): void {
    this.#listener = listener;
    this.#socket.write(encodeCommand(command));
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    let replies: Reply[];
    try {
      replies = this.#parser.push(chunk);
    } catch {
      this.#socket.destroy();
      return;
    }
    for (const reply of replies) {
      const waiter = this.#waiting.shift();
      if (waiter) waiter.resolve(reply);
      else this.#listener(reply);
    }
  }
}
