/// <reference path="../../../pkg/src/host/workerd.d.ts" />

/** What the tests use of the Workers runtime beyond what the host does. */

interface DurableObjectState {
  readonly id: { toString(): string };
  abort(reason: string): void;
}

interface DurableObjectStorage {
  getAlarm(): Promise<number | null>;
}

interface SqlStorageCursor {
  readonly rowsWritten: number;
}

interface ExecutionContext {
  waitUntil(promise: Promise<unknown>): void;
}

declare const scheduler: {
  wait(ms: number, options?: { readonly signal?: AbortSignal }): Promise<void>;
};

declare module "cloudflare:workers" {
  export const env: unknown;
}

interface DurableObjectNamespace<T> {
  getByName(name: string): T;
}
