/**
 * The name of the object that decides about a key: the key itself, so each has its own, or one of
 * `shards` objects by a hash that never changes.
 */
export declare function objectName(key: string, shards: number | undefined): string;
