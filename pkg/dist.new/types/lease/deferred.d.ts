/** A promise and the means to settle it. */
export interface Deferred<T> {
    readonly promise: Promise<T>;
    resolve(value: T): void;
    reject(reason: unknown): void;
}
/** A promise to be settled later. Nobody has to handle its rejection. */
export declare function deferred<T>(): Deferred<T>;
