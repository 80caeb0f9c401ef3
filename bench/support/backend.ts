/** A real redis-server, and the REST endpoint in front of it in a process of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { RedisServer } from "../../tests/rest-endpoint/server-process.ts";

const ENDPOINT = fileURLToPath(new URL("../../tests/rest-endpoint/main.ts", import.meta.url));

export class Backend implements AsyncDisposable {
  readonly redisPort: number;
  readonly url: string;
  readonly token: string;
  readonly #redis: RedisServer;
  readonly #endpoint: ChildProcess;

  private constructor(redis: RedisServer, endpoint: ChildProcess, url: string, token: string) {
    this.redisPort = redis.port;
    this.url = url;
    this.token = token;
    this.#redis = redis;
    this.#endpoint = endpoint;
  }

  static async start(): Promise<Backend> {
    const redis = await RedisServer.start();
    // Checking a script's keys and counting its commands costs time that no service takes.
    const args = [ENDPOINT, "--redis-port", String(redis.port), "--plain-scripts", "--unbilled"];
    const endpoint = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    try {
      const said = new Map<string, string>();
      for await (const line of createInterface({ input: endpoint.stdout })) {
        const [name = "", value = ""] = line.split(" ");
        said.set(name, value);
        if (said.size === 2) break;
      }
      return new Backend(redis, endpoint, said.get("url") ?? "", said.get("token") ?? "");
    } catch (error) {
      endpoint.kill();
      await redis.close();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#endpoint, "exit");
    this.#endpoint.kill();
    await ended;
    await this.#redis.close();
  }
}
