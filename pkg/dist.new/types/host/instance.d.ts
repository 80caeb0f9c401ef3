/** The host's wasm instance: one for all objects of an isolate. */
import type { WireResponse } from "../lease/backend.js";
export { LeaseObject } from "../../wasm/host/host.js";
/** Counts the instances. Whatever was made in an earlier one is gone with it. */
export declare function currentGeneration(): number;
/** Runs wasm code, and begins a new instance if it traps: the next call finds a sound one. */
export declare function guarded<T>(run: () => T): T;
/** What was sent, as a record whose fields can be read without running any code. */
export declare function plain(sent: unknown): object;
/** Why no host would carry out this request, if that is so. */
export declare function refusal(request: unknown): WireResponse | undefined;
/**
 * Why the bearer of this token may not operate on this key, if that is so; without a key, why the
 * token is not accepted for any.
 */
export declare function denial(secret: string | undefined, bearer: string, key?: string): WireResponse | undefined;
