import type { WireResponse } from "../lease/backend.js";

/** The answer that a text is, as far as can be seen; whether it makes sense the core says. */
export function answerIn(text: string): WireResponse | undefined {
  try {
    const answer: unknown = JSON.parse(text);
    const isAnswer = typeof answer === "object" && answer !== null && "outcome" in answer;
    return isAnswer ? (answer as WireResponse) : undefined;
  } catch {
    return undefined;
  }
}
