import { d1Fence, durableObjectFence, FencedObject, r2Objects } from "leasehold/fence";
import LeaseWorker from "leasehold/worker";

export { LeaseHost } from "leasehold/host";
export default LeaseWorker;

export const guards = (
  env: { DB: D1Database; BUCKET: R2Bucket },
  storage: DurableObjectStorage,
) => [
  d1Fence(env.DB),
  durableObjectFence(storage),
  new FencedObject(r2Objects(env.BUCKET), "state"),
];
