/** Workers in workerd, by miniflare, with Durable Objects whose storage is on disk. */

import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { Miniflare, type MiniflareOptions } from "miniflare";
import { decode, encode } from "./plain.ts";

const COMPATIBILITY_DATE = "2026-07-01";

/** What the runtime itself writes for an object that is only asked something. */
const EMPTY_BYTES = 4_096;

/** A Worker's modules, as miniflare takes them. */
export type Modules = {
  type: "ESModule" | "CompiledWasm";
  path: string;
  contents: string | Buffer;
}[];

/** A Worker to run. */
export interface WorkerSpec {
  readonly name: string;
  /** The TypeScript file of its main module. */
  readonly entry: URL;
  /** Bindings to Durable Objects: a class of its own, or one of another Worker. */
  readonly durableObjects?: Record<string, string | { className: string; scriptName: string }>;
  /** Bindings to text and JSON: variables and secrets. */
  readonly vars?: Record<string, unknown>;
  /** Bindings to queues, by name. The Worker consumes them, too, one message at a time. */
  readonly queues?: Record<string, string>;
  /** Bindings to other Workers, by name. */
  readonly services?: Record<string, string>;
  /** Paths at the first Worker's address that this Worker answers instead. */
  readonly routes?: string[];
  /** Compatibility flags beside the date's own. */
  readonly flags?: string[];
  /** Another compatibility date than today's. */
  readonly compatibilityDate?: string;
  /** Whether its objects store in SQLite, as they should: true unless said. */
  readonly useSQLite?: boolean;
}

/** Bundles a Worker as wrangler would, with wasm as compiled modules beside it. */
export async function bundle(entry: URL | string): Promise<Modules> {
  const wasm = new Map<string, string>();
  const built = await esbuild.build({
    entryPoints: [typeof entry === "string" ? entry : fileURLToPath(entry)],
    bundle: true,
    write: false,
    format: "esm",
    target: "esnext",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*"],
    logLevel: "warning",
    plugins: [
      {
        name: "compiled-wasm",
        setup(build) {
          build.onResolve({ filter: /\.wasm$/ }, ({ path, resolveDir }) => {
            wasm.set(`./${basename(path)}`, join(resolveDir, path));
            return { path: `./${basename(path)}`, external: true };
          });
        },
      },
    ],
  });
  const [script] = built.outputFiles;
  return [
    { type: "ESModule", path: "worker.mjs", contents: script?.text ?? "" },
    ...(await Promise.all(
      [...wasm].map(async ([path, file]) => ({
        type: "CompiledWasm" as const,
        path,
        contents: await readFile(file),
      })),
    )),
  ];
}

/** Workers that run until they are stopped. The first one answers at {@link Workers.url}. */
export class Workers implements AsyncDisposable {
  #options: MiniflareOptions;
  readonly #storage: string;
  #miniflare: Miniflare;

  private constructor(options: MiniflareOptions, storage: string) {
    this.#options = options;
    this.#storage = storage;
    this.#miniflare = new Miniflare(options);
  }

  /** Starts them with empty storage. */
  static async start(...specs: WorkerSpec[]): Promise<Workers> {
    const storage = await mkdtemp(join(tmpdir(), "leasehold-workerd-"));
    const running = new Workers(await together(specs, storage), storage);
    await running.#miniflare.ready;
    return running;
  }

  /** Where the first Worker answers. */
  url(): Promise<URL> {
    return this.#miniflare.ready;
  }

  /**
   * A namespace binding of the first Worker, as a Worker would see it. The Worker has to have
   * `bridge` for its `fetch`, as the test host does.
   */
  namespace<T>(binding: string): Namespace<T> {
    const call = async (name: string, method: string, init: RequestInit): Promise<Response> => {
      const path = [binding, name, method].map(encodeURIComponent).join("/");
      return fetch(new URL(path, await this.url()), { method: "POST", ...init });
    };
    const rpc = async (name: string, method: string, args: unknown[]): Promise<unknown> => {
      const response = await call(name, method, { body: encode(args) });
      if (response.ok) {
        return decode(await response.text());
      }
      const { message, ...flags } = (await response.json()) as { message: string };
      throw Object.assign(new Error(message), flags);
    };
    const stub = (name: string) =>
      new Proxy(Object.create(null), {
        get(_, method: string) {
          if (method === "fetch") {
            return (_url: string, init: RequestInit) => call(name, "fetch", init);
          }
          return method === "then" ? undefined : (...args: unknown[]) => rpc(name, method, args);
        },
      });
    return { idFromName: (name) => name, get: stub, getByName: stub };
  }

  /** Starts the Worker of `test-worker.ts`, whose objects have handles for faults. */
  static startTestHost(): Promise<Workers> {
    return Workers.start({
      name: "host",
      entry: new URL("./test-worker.ts", import.meta.url),
      durableObjects: { LEASES: "TestHost", SHARD: "TestShard" },
      flags: ["enable_request_signal"],
    });
  }

  /** The files of the objects of a class that have stored something. */
  async storedObjects(className: string): Promise<string[]> {
    const files = await readdir(this.#storage, { recursive: true });
    const databases = files.filter((file) => /[0-9a-f]{64}\.sqlite$/.test(file));
    const size = async (file: string) =>
      (await stat(join(this.#storage, file)).catch(() => undefined))?.size ?? 0;
    const sizes = databases.map(async (file) => (await size(file)) + (await size(`${file}-wal`)));
    const used = (await Promise.all(sizes)).map((bytes) => bytes > EMPTY_BYTES);
    return databases.filter((file, index) => file.includes(className) && used[index]);
  }

  /** Ends the runtime and starts another on the same storage, with these Workers if any are given. */
  async restart(...specs: WorkerSpec[]): Promise<void> {
    await this.#miniflare.dispose();
    if (specs.length > 0) {
      this.#options = await together(specs, this.#storage);
    }
    this.#miniflare = new Miniflare(this.#options);
    await this.#miniflare.ready;
  }

  /** Ends the runtime and deletes the storage. */
  async stop(): Promise<void> {
    await this.#miniflare.dispose();
    await rm(this.#storage, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** A binding to a namespace of Durable Objects that answer to `T`. */
export interface Namespace<T> {
  idFromName(name: string): string;
  get(id: string): T;
  getByName(name: string): T;
}

async function together(specs: WorkerSpec[], storage: string): Promise<MiniflareOptions> {
  const workers = await Promise.all(specs.map(options));
  return { workers, durableObjectsPersist: storage } as MiniflareOptions;
}

async function options(spec: WorkerSpec) {
  const own = (bound: string | { className: string; scriptName: string }) => ({
    ...(typeof bound === "string" ? { className: bound } : bound),
    useSQLite: spec.useSQLite ?? true,
  });
  return {
    name: spec.name,
    modules: await bundle(spec.entry),
    compatibilityDate: spec.compatibilityDate ?? COMPATIBILITY_DATE,
    ...(spec.routes && { routes: spec.routes }),
    compatibilityFlags: spec.flags ?? [],
    bindings: spec.vars ?? {},
    ...(spec.queues && {
      queueProducers: spec.queues,
      queueConsumers: Object.fromEntries(
        Object.values(spec.queues).map((queue) => [queue, { maxBatchSize: 1, maxBatchTimeout: 0 }]),
      ),
    }),
    serviceBindings: spec.services ?? {},
    durableObjects: Object.fromEntries(
      Object.entries(spec.durableObjects ?? {}).map(([binding, bound]) => [binding, own(bound)]),
    ),
  };
}
