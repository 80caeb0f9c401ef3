/** A report that a cron trigger writes each hour: once, however many deployments have the trigger. */

import { LeaseClient } from "leasehold";
import { durableObject } from "leasehold/durable-object";
import { onSchedule } from "leasehold/schedule";

export { LeaseHost } from "leasehold/host";

interface Env {
  readonly LEASES: DurableObjectNamespace;
}

const HOUR_MS = 3_600_000;

export default {
  async scheduled(controller, env): Promise<void> {
    const leases = new LeaseClient(durableObject(env.LEASES));
    const options = { at: controller.scheduledTime, everyMs: HOUR_MS };
    const firing = await onSchedule(leases, "report", options, async (lease) => {
      // The work: pass lease.signal to what can be aborted, lease.fence to what can check it.
      await scheduler.wait(10, { signal: lease.signal });
    });
    console.log(firing.slot.toISOString(), firing.ran ? "written" : firing.skipped);
  },
} satisfies ExportedHandler<Env>;
