/** As much of the Workers runtime as the host uses. Not published: users have their own. */

declare module "cloudflare:workers" {
  export class DurableObject<Env = unknown> {
    constructor(ctx: DurableObjectState, env: Env);
    protected readonly ctx: DurableObjectState;
    protected readonly env: Env;
    fetch?(request: Request): Response | Promise<Response>;
    alarm?(): void | Promise<void>;
  }

  export class WorkerEntrypoint<Env = unknown> {
    constructor(ctx: { waitUntil(promise: Promise<unknown>): void }, env: Env);
    protected readonly ctx: { waitUntil(promise: Promise<unknown>): void };
    protected readonly env: Env;
    fetch?(request: Request): Response | Promise<Response>;
  }
}

interface DurableObjectState {
  readonly id: { readonly name?: string; toString(): string };
  readonly storage: DurableObjectStorage;
}

interface DurableObjectStorage {
  readonly sql: {
    exec(query: string, ...values: (string | number | null)[]): SqlStorageCursor;
  };
  transactionSync<T>(closure: () => T): T;
  setAlarm(epochMs: number): Promise<void>;
  deleteAlarm(): Promise<void>;
  deleteAll(): Promise<void>;
}

interface SqlStorageCursor {
  toArray(): Record<string, unknown>[];
}
