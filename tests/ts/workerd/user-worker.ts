/** Somebody's Worker that uses a lease host deployed elsewhere. */

interface Host {
  call(request: unknown): Promise<unknown>;
}

interface Env {
  readonly HOST: Host;
  readonly LEASES: DurableObjectNamespace<Host>;
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const asked = (await request.json()) as { key: string };
    const byService = new URL(request.url).pathname === "/service";
    const host = byService ? env.HOST : env.LEASES.getByName(asked.key);
    return Response.json(await host.call(asked));
  },
};
