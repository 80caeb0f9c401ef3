import { randomBytes } from "node:crypto";
import type { CallOptions, LeaseBackend, WireRequest, WireResponse } from "leasehold";

type Call = (request: WireRequest, options: CallOptions) => Promise<WireResponse>;

function wrap<T extends object>(host: LeaseBackend, call: Call, more: T): LeaseBackend & T {
  return { capabilities: host.capabilities, call, ...more };
}

/** Counts the requests that go out. */
export function counted(host: LeaseBackend): LeaseBackend & { count(operation?: string): number } {
  const sent: string[] = [];
  const call: Call = (request, options) => {
    sent.push(request.operation);
    return host.call(request, options);
  };
  return wrap(host, call, {
    count: (operation?: string) =>
      sent.filter((name) => operation === undefined || name === operation).length,
  });
}

/** Lets the first `times` requests of an operation through and loses their answers. */
export function answersLost(host: LeaseBackend, operation: string, times: number): LeaseBackend {
  let left = times;
  const call: Call = async (request, options) => {
    const response = await host.call(request, options);
    if (request.operation === operation && left > 0) {
      left -= 1;
      throw new Error("connection reset");
    }
    return response;
  };
  return wrap(host, call, {});
}

/** Sends each request twice, one after the other; the second answer counts. */
export function sentTwice(host: LeaseBackend): LeaseBackend {
  const call: Call = async (request, options) => {
    await host.call(request, options);
    return host.call(request, options);
  };
  return wrap(host, call, {});
}

const id = () => randomBytes(16).toString("hex");

/** Requests as they travel, for what no client of ours would send. */
export const op = {
  acquire: (key: string): WireRequest => ({
    v: 1,
    operation: "acquire",
    key,
    op: id(),
    holder: "somebody",
    lease: id(),
    ttlMs: 5_000,
  }),
  cancel: (of: WireRequest): WireRequest => ({ v: 1, operation: "cancel", key: of.key, op: of.op }),
  release: (of: WireRequest): WireRequest => ({
    v: 1,
    operation: "release",
    key: of.key,
    op: id(),
    lease: of.lease ?? "",
  }),
  send: (host: LeaseBackend, request: WireRequest): Promise<WireResponse> =>
    host.call(request, { signal: new AbortController().signal, timeoutMs: 5_000, rebind: false }),
};
