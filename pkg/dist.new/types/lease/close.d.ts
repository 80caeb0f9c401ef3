import type { Clock } from "./clock.js";
import { LeaseError } from "./errors.js";
import { type Released } from "./released.js";
import type { Session } from "./session.js";
/** What a closed client answers to every call, and to the waits that closing it cut short. */
export declare function closed(): LeaseError;
/** Ends the sessions, and says what became of their leases. */
export declare function closeAll(sessions: Iterable<Session>, clock: Clock, timeoutMs: number | undefined): Promise<Released>;
