/** What a request's body turned out to be. */
export type Body = {
    readonly record: Record<string, unknown>;
} | "too-large" | "malformed";
/** Reads a JSON object of at most `limit` bytes, and no byte more. */
export declare function readRecord(request: Request, limit: number): Promise<Body>;
