/** Whether a lease may be touched by the request alone that made it: not here. */
export const LEASES_BELONG_TO_REQUESTS: boolean = false;
