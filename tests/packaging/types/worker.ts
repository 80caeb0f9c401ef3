import LeaseWorker from "leasehold/worker";

export { LeaseHost } from "leasehold/host";
export default LeaseWorker;
