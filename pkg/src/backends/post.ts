import type { CallOptions, WireRequest, WireResponse } from "../lease/backend.js";
import { failureOf } from "../lease/failure.js";
import { bodyOf, foreignAnswer } from "./endpoint.js";

/** What this package needs of `fetch`, be it the runtime's or a Durable Object stub's. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const WHO = "The lease host";

/**
 * Posts a request and reads the answer. A readable answer counts whatever the status; anything
 * else is no answer, and what the host did is unknown: `fetch` doesn't tell whether a request that
 * failed had been sent.
 */
export async function post(
  fetch: Fetch,
  url: string,
  headers: Readonly<Record<string, string>>,
  request: WireRequest,
  { signal }: CallOptions,
): Promise<WireResponse> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(request),
      // A redirect could take the lease's credential to another place.
      redirect: "manual",
      signal,
    });
    text = await bodyOf(response);
  } catch (cause) {
    throw failureOf(cause, WHO, "fetch");
  }
  const answer = parse(text);
  if (answer === undefined) {
    throw foreignAnswer(response, text, WHO);
  }
  return answer;
}

function parse(text: string): WireResponse | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    const isAnswer = typeof answer === "object" && answer !== null && "outcome" in answer;
    return isAnswer ? (answer as WireResponse) : undefined;
  } catch {
    return undefined;
  }
}
