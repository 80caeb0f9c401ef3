import type { WireResponse } from "../lease/backend.js";
/** A refusal as a response of the protocol. */
export declare function refused(code: "DENIED" | "INVALID" | "UNAVAILABLE", reason: string, message: string, retryAfterMs?: number): WireResponse;
/** A response of the protocol as JSON over HTTP, for nobody to keep. */
export declare function json(status: number, response: WireResponse, headers?: Record<string, string>): Response;
/** To a body that is no JSON object. */
export declare function malformedJson(): Response;
/** To any method but the one allowed. */
export declare function methodNotAllowed(allowed: string): Response;
