/**
 * On Workers whatever a request has made may be touched by that request alone, and a client may
 * serve many. Each lease there is looked at by its own timer and by whoever reads it.
 */
export const LEASES_BELONG_TO_REQUESTS = globalThis.navigator?.userAgent === "Cloudflare-Workers";
