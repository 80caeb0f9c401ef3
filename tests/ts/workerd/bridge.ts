/** The Worker's half of a namespace binding that reaches into the tests' own process. */

import { decode, encode } from "./plain.ts";

/** What the runtime tells about an error beside its text. */
export const FLAGS = ["remote", "retryable", "overloaded", "durableObjectReset"] as const;

type Methods = Record<string, (...args: unknown[]) => Promise<unknown>>;

/** Carries out `POST /<binding>/<object>/<method>`. */
export async function bridge(request: Request, env: Record<string, unknown>): Promise<Response> {
  const [binding = "", name = "", method = ""] = new URL(request.url).pathname
    .slice(1)
    .split("/")
    .map(decodeURIComponent);
  const namespace = env[binding] as DurableObjectNamespace<Methods & { fetch: typeof fetch }>;
  const stub = namespace.getByName(name);
  if (method === "fetch") {
    const leaveAfterMs = request.headers.get("x-leave-after-ms");
    const signal = leaveAfterMs === null ? null : AbortSignal.timeout(Number(leaveAfterMs));
    return stub.fetch(new Request("https://object/", request), { signal });
  }
  try {
    const args = decode(await request.text()) as unknown[];
    return new Response(encode(await stub[method]?.(...args)));
  } catch (error) {
    const flags = Object.fromEntries(FLAGS.map((flag) => [flag, Reflect.get(Object(error), flag)]));
    return Response.json({ message: String(error), ...flags }, { status: 500 });
  }
}
