import type { LeaseBackend } from "../lease/backend.js";
import { type Clock } from "../lease/clock.js";
/** How an embedded host goes about it. */
export interface MemoryOptions {
    /** The time and timers; the runtime's own by default. The clients' clock, in tests. */
    readonly clock?: Clock;
}
/**
 * A host inside this process: the same machine as the Durable Object's, without storage. Clients
 * made with the same host contend; it forgets everything with the process.
 */
export declare function memory(options?: MemoryOptions): LeaseBackend;
