import type { LeaseNamespace } from "leasehold/durable-object";

/** What the consumer is bound to. */
export interface Env {
  readonly LEASES: LeaseNamespace;
  /** The service that ships, and checks fences. */
  readonly SHIPPING: { fetch(url: string, init: RequestInit): Promise<Response> };
}

export interface Order {
  readonly id: string;
}

/** Ships an order. What comes back is kept, so that whoever asks again gets the same number. */
export async function ship(env: Env, id: string, fence: bigint): Promise<{ tracking: string }> {
  const headers = { "x-fence": String(fence) };
  const response = await env.SHIPPING.fetch(`https://shipping/${id}`, { method: "PUT", headers });
  if (!response.ok) throw new Error(`shipping answered ${response.status}`);
  return { tracking: await response.text() };
}
