import { eventually } from "../../rest-endpoint/harness.ts";
import { RedisConnection } from "../../rest-endpoint/redis.ts";
import { freePort, RedisServer } from "../../rest-endpoint/server-process.ts";
import { ask } from "./subject.ts";

/** The slots of each of the nodes. */
const SLOTS = [
  ["0", "8191"],
  ["8192", "16383"],
] as const;

/** A cluster of two nodes on loopback, each with half of the keys. */
export class RedisCluster {
  readonly #servers: readonly RedisServer[];

  private constructor(servers: readonly RedisServer[]) {
    this.#servers = servers;
  }

  static async start(): Promise<RedisCluster> {
    const buses = await Promise.all(SLOTS.map(freePort));
    const servers = await Promise.all(
      buses.map((bus) =>
        RedisServer.start({
          settings: ["--cluster-enabled", "yes", "--cluster-port", String(bus)],
        }),
      ),
    );
    const direct = await Promise.all(servers.map((server) => RedisConnection.open(server)));
    const [first] = direct;
    const [, second] = servers;
    for (const [index, range] of SLOTS.entries()) {
      await direct[index]?.send("CLUSTER", "ADDSLOTSRANGE", ...range);
    }
    await first?.send("CLUSTER", "MEET", "127.0.0.1", String(second?.port), String(buses[1]));
    for (const connection of direct) {
      await eventually("the cluster is whole", async () => {
        const info = (await ask(connection, "CLUSTER", "INFO")) ?? "";
        return info.includes("cluster_state:ok") && info.includes("cluster_size:2");
      });
      connection.close();
    }
    return new RedisCluster(servers);
  }

  get nodes(): readonly { readonly host: string; readonly port: number }[] {
    return this.#servers.map(({ port }) => ({ host: "127.0.0.1", port }));
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
