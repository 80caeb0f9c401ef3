import type { LeaseBackend } from "../lease/backend.js";
import { BackendError } from "../lease/errors.js";
/** The way to a Redis server: any client that can send a command will do. */
export interface RedisConnection {
    /**
     * Sends one command and gives its reply. Rejects with the server's error as the message where
     * the server answers with one, and with anything else where there is no answer. Must not send a
     * command again by itself.
     */
    send(command: string[], signal: AbortSignal): Promise<unknown>;
    /**
     * Calls `onMessage` for each message on a channel until the signal aborts. Optional, and only a
     * hint: a message that is lost costs a waiter time and nothing else. May reject when it ends.
     */
    listen?(channel: string, onMessage: () => void, signal: AbortSignal): Promise<void>;
}
/** Settings of a Redis host. */
export interface RedisOptions extends RedisConnection {
    /** What all its names in the database begin with: 1 to 64 characters of `A-Z a-z 0-9 _ . : -`. */
    readonly prefix?: string;
}
/**
 * A Redis as a lease host, through a client that you have already.
 *
 * Exclusion is best effort on a store that replicates asynchronously: a failover can lose a grant.
 * The guarantee is the fence, checked at the resource. Eviction has to be off (`noeviction`).
 *
 * @throws LeaseError `INVALID` for a bad prefix.
 */
export declare function redis(options: RedisOptions): LeaseBackend;
/** Without the cause itself: clients put the command into their errors, and with it secrets. */
export declare function noAnswer(error: unknown): BackendError;
