import { CommandTable } from "./commands.ts";
import type { CommandBill } from "./log.ts";
import { ConnectionLost, type RedisAddress, RedisConnection } from "./redis.ts";

interface Open {
  readonly main: RedisConnection;
  readonly table: CommandTable;
}

/** The endpoint's connections to redis, made when first needed and again after one is lost. */
export class Upstream {
  readonly #address: RedisAddress;
  readonly #bill: CommandBill | undefined;
  readonly #all = new Set<RedisConnection>();
  #closed = false;
  #open: Promise<Open> | undefined;

  /** Without a bill nothing is watched, which takes the server and us time for each command. */
  constructor(address: RedisAddress, bill?: CommandBill) {
    this.#address = address;
    this.#bill = bill;
  }

  async main(): Promise<RedisConnection> {
    return (await this.#ready()).main;
  }

  async table(): Promise<CommandTable> {
    return (await this.#ready()).table;
  }

  /** A connection of the caller's own, to be closed by the caller. */
  async dedicated(): Promise<RedisConnection> {
    await this.#ready();
    return this.#connect();
  }

  close(): void {
    this.#closed = true;
    for (const connection of this.#all) connection.close();
  }

  async #ready(): Promise<Open> {
    const attempt = this.#open;
    const current = await attempt?.catch(() => undefined);
    if (current?.main.alive) return current;
    // Another caller may have begun a new attempt while this one waited.
    const next = this.#open && this.#open !== attempt ? this.#open : this.#start();
    this.#open = next;
    return next;
  }

  async #start(): Promise<Open> {
    const main = await this.#connect();
    if (this.#bill) {
      const monitor = await this.#connect();
      await this.#bill.watch(monitor);
      void monitor.closed.then(() => main.close());
    }
    const table = new CommandTable(await main.send("COMMAND"));
    return { main, table };
  }

  async #connect(): Promise<RedisConnection> {
    const connection = await RedisConnection.open(this.#address);
    if (this.#closed) {
      connection.close();
      throw new ConnectionLost();
    }
    this.#all.add(connection);
    void connection.closed.then(() => this.#all.delete(connection));
    return connection;
  }
}
