/** For pages that ask from a browser: what it has to be told before and with an answer. */

/** Answers a preflight from a page that may ask, and names its origin in the answers to it. */
export async function crossOrigin(
  request: Request,
  allows: (origin: string) => boolean,
  answer: () => Promise<Response>,
): Promise<Response> {
  const origin = request.headers.get("origin");
  const isPage = origin !== null && allows(origin);
  const isPreflight =
    request.method === "OPTIONS" && request.headers.has("access-control-request-method");
  const response = isPage && isPreflight ? preflight() : await answer();
  if (isPage) {
    response.headers.set("access-control-allow-origin", origin);
    response.headers.set("access-control-expose-headers", "retry-after");
    response.headers.set("vary", "origin");
  }
  return response;
}

function preflight(): Response {
  const headers = {
    "access-control-allow-methods": "POST",
    "access-control-allow-headers": "authorization, content-type",
    "access-control-max-age": "7200",
    "cache-control": "no-store",
  };
  return new Response(null, { status: 204, headers });
}
