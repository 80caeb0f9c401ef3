import type { CallOptions, WireRequest, WireResponse } from "../lease/backend.js";
import { answerIn } from "./answer.js";
import { bodyOf, foreignAnswer } from "./endpoint.js";

/** What this package needs of `fetch`, be it the runtime's or a Durable Object stub's. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/**
 * Posts a request and reads the answer. A readable answer counts whatever the status; anything
 * else is no answer. Rejects with what `fetch` rejects with, which doesn't tell whether the request
 * had been sent.
 */
export async function post(
  fetch: Fetch,
  url: string,
  headers: Readonly<Record<string, string>>,
  request: WireRequest,
  { signal }: CallOptions,
): Promise<WireResponse> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(request),
    // A redirect could take the lease's credential to another place.
    redirect: "manual",
    signal,
  });
  const text = await bodyOf(response);
  const answer = answerIn(text);
  if (answer === undefined) {
    throw foreignAnswer(response, text, "The lease host");
  }
  return answer;
}
