import { LeaseClient } from "leasehold";
import { memory } from "leasehold/memory";

export const leases = new LeaseClient(memory());
