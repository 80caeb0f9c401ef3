/** The stand-alone host's face over HTTPS. */
import type { WireResponse } from "../lease/backend.js";
/** What the face stands before. */
export interface Behind {
    /** The secret with the tokens. */
    readonly tokens: string | undefined;
    /** Why no host would carry out this request, if that is so. */
    refusal(request: unknown): WireResponse | undefined;
    /** Carries out a request that is valid. */
    call(request: Record<string, unknown>): Promise<WireResponse>;
}
/** Answers one HTTP request. */
export declare function face(request: Request, behind: Behind): Promise<Response>;
