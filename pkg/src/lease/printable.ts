/** Text from elsewhere as part of a message: on one line, of bounded length, nothing invisible. */
export function printable(text: string, most: number): string {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ").trim();
  return plain.length > most ? `${plain.slice(0, most).trimEnd()} …` : plain;
}

/** The class of an exception, and its code. Whatever else is in it may be a secret. */
export function classOf(error: unknown): string {
  const { name, code, cause } = Object(error) as Record<string, unknown>;
  const kind = typeof name === "string" ? printable(name, 40) : typeof error;
  const why = codeOf(code) ?? codeOf(Object(cause).code);
  return why === undefined ? kind : `${kind} (${why})`;
}

function codeOf(code: unknown): string | undefined {
  return typeof code === "string" && /^[A-Za-z][A-Za-z_]{1,40}$/.test(code) ? code : undefined;
}

/** The words of an exception without what is quoted in them, addresses, and possible ids. */
export function wordsOf(error: unknown): string {
  const words = String(Object(error).message ?? "")
    .replace(/(["'`])(?:(?!\1).)*\1/gs, "…")
    .replace(/\w+:\/\/\S+/g, "…")
    .replace(/\b(?=\w*\d)\w{8,}\b/g, "…");
  return printable(words, 160);
}
