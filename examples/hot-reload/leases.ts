/**
 * The app's lease client, in a module that a development server loads again after every change.
 * Without a word the old client would go on renewing its leases, and the new one would wait for
 * them.
 */

import { LeaseClient } from "leasehold";
import { upstashFromEnv } from "leasehold/upstash";

declare global {
  /** The client that the module's last evaluation made: only `globalThis` outlives a reload. */
  var appLeases: LeaseClient | undefined;
}

await globalThis.appLeases?.close();

export const leases = new LeaseClient(upstashFromEnv());
globalThis.appLeases = leases;
