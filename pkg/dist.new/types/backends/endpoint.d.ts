/**
 * The URL that an endpoint's paths begin with.
 *
 * @throws LeaseError `INVALID`; never quotes the URL, which may hold a secret.
 */
export declare function baseUrl(value: unknown): string;
/**
 * The header that shows a token.
 *
 * @throws LeaseError `INVALID` for what no header can hold; never quotes it.
 */
export declare function bearer(token: unknown): {
    readonly authorization: string;
};
/** `Retry-After` in milliseconds: a number of seconds, or a date (RFC 9110, 10.2.3). */
export declare function retryAfter(response: Response): number | undefined;
