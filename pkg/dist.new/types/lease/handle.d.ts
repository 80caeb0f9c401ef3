/**
 * A lease as plain data, to be carried on elsewhere with `LeaseClient.resume`.
 *
 * Whoever has it can act on the lease: `id` is its credential.
 */
export interface LeaseHandle {
    readonly v: 1;
    readonly key: string;
    readonly holder: string;
    /** The lease's id and credential: 32 hexadecimal digits. Secret. */
    readonly id: string;
    /** The fence, in decimal: a JavaScript number is not exact above 2^53. */
    readonly fence: string;
    /** Length of the grant in milliseconds. */
    readonly ttlMs: number;
}
/** The handle in data of unknown origin. Key, holder, id and term are left to the core. */
export declare function parseHandle(value: unknown): LeaseHandle;
