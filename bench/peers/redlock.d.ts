/** As much of redlock as is measured. Its own types are out of a bundler's reach. */
declare module "redlock" {
  interface Settings {
    readonly retryCount?: number;
    readonly automaticExtensionThreshold?: number;
  }

  export default class Redlock {
    constructor(clients: Iterable<unknown>, settings?: Settings);
    on(event: "error", listener: (error: Error) => void): this;
    acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
    using<T>(
      resources: string[],
      durationMs: number,
      routine: (signal: AbortSignal) => Promise<T>,
    ): Promise<T>;
  }
}
