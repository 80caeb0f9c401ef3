/** The recipe's consumer, with a producer, and a way to see what became of the messages. */
import consumer, { LeaseHost } from "../../../../examples/recipes/consumer.ts";

export { LeaseHost };

interface Env {
  readonly LEASES: never;
  readonly SHIPPING_URL: string;
  readonly ORDERS: { send(order: object): Promise<void> };
}

type Batch = Parameters<typeof consumer.queue>[0];

const outcomes: string[] = [];

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    if (request.method === "GET") return Response.json(outcomes);
    await env.ORDERS.send((await request.json()) as object);
    return new Response(null, { status: 202 });
  },
  async queue({ messages }: Batch, env: Env): Promise<void> {
    const SHIPPING = {
      fetch: (url: string, init: RequestInit) =>
        fetch(new URL(new URL(url).pathname, env.SHIPPING_URL), init),
    };
    await consumer.queue(
      {
        messages: messages.map((message) => ({
          body: message.body,
          ack() {
            message.ack();
            outcomes.push(`ack ${message.body.id}`);
          },
          retry(options) {
            message.retry(options);
            outcomes.push(`retry ${message.body.id}`);
          },
        })),
      },
      { LEASES: env.LEASES, SHIPPING },
    );
  },
};
