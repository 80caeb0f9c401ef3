/** What is built on leases, in handlers and in an object. */

import { DurableObject } from "cloudflare:workers";
import { LeaseClient } from "leasehold";
import { durableObject, type LeaseNamespace } from "leasehold/durable-object";
import { type Election, election } from "leasehold/election";
import { synchronized, toResponse } from "leasehold/synchronized";
import { LockManager } from "leasehold/web-locks";

export { LeaseHost } from "leasehold/host";

interface Env {
  readonly LEASES: LeaseNamespace;
  readonly CANDIDATES: DurableObjectNamespace<Candidate>;
}

const clientOf = ({ LEASES }: Env) => new LeaseClient(durableObject(LEASES));

const billing = (env: Env): Election<string> =>
  election<string>(clientOf(env), "billing", { ttlMs: 1_000 });

/** Stands for election, and leads from request to request. */
export class Candidate extends DurableObject<Env> {
  readonly #own = billing(this.env);
  #leads = () => false;

  async campaign(value: string): Promise<void> {
    const lease = await this.#own.campaign(value);
    this.#leads = () => lease.held;
  }

  leads(): boolean {
    return this.#leads();
  }

  async resign(): Promise<void> {
    await this.#own.resign();
  }
}

const handlers: Record<string, (env: Env, id: string) => Promise<unknown>> = {
  /** Wins, and answers without resigning. */
  async win(env, id) {
    await billing(env).campaign(id);
    return { won: true };
  },
  leader: async (env) => ({ value: (await billing(env).leader())?.value ?? null }),
  async stand(env, id) {
    await env.CANDIDATES.getByName(id).campaign(id);
    return { won: true };
  },
  leads: async (env, id) => ({ leads: await env.CANDIDATES.getByName(id).leads() }),
  async resign(env, id) {
    await env.CANDIDATES.getByName(id).resign();
    return {};
  },
  /** For half a second nobody else ships the order. */
  async ship(env, id) {
    const ship = synchronized(clientOf(env), "order:{}", async (order: string) => {
      await scheduler.wait(500);
      return `shipped ${order}`;
    });
    return { said: await ship(id) };
  },
  once: (env, id) =>
    clientOf(env).runOnce(`once:${id}`, { keepMs: 60_000 }, async ({ fence }) => {
      await scheduler.wait(100);
      return { fence: String(fence) };
    }),
  /** The keys `a` and `b`, in the order of the path. */
  both: (env, id) =>
    clientOf(env).runAll([...id], async ({ leases }) => {
      await scheduler.wait(50);
      return { keys: leases.map(({ key }) => key) };
    }),
  lock: (env, id) =>
    new LockManager(clientOf(env)).request(id, async (lock) => {
      await scheduler.wait(50);
      return { name: lock?.name, aborted: lock?.signal.aborted };
    }),
};

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [, handler = "", id = ""] = new URL(request.url).pathname.split("/");
    try {
      return Response.json(await handlers[handler]?.(env, id));
    } catch (error) {
      return toResponse(error);
    }
  },
};
