export type Reply =
  | { readonly kind: "simple"; readonly text: string }
  | { readonly kind: "error"; readonly text: string }
  | { readonly kind: "integer"; readonly digits: string }
  | { readonly kind: "bulk"; readonly bytes: Buffer | null }
  | { readonly kind: "array"; readonly items: readonly Reply[] | null };

export type Command = readonly (string | Buffer)[];

const CRLF = "\r\n";

export function errorReply(text: string): Reply {
  return { kind: "error", text };
}

export function encodeCommand(command: Command): Buffer {
  const parts: Buffer[] = [Buffer.from(`*${command.length}${CRLF}`)];
  for (const argument of command) {
    const bytes = Buffer.from(argument);
    parts.push(Buffer.from(`$${bytes.length}${CRLF}`), bytes, Buffer.from(CRLF));
  }
  return Buffer.concat(parts);
}

interface OpenArray {
  readonly items: Reply[];
  readonly length: number;
}

export class ReplyParser {
  #buffer = Buffer.alloc(0);
  #position = 0;
  readonly #open: OpenArray[] = [];

  /** Adds bytes and returns every reply they complete. */
  push(chunk: Buffer): Reply[] {
    this.#buffer = Buffer.concat([this.#buffer.subarray(this.#position), chunk]);
    this.#position = 0;
    const complete: Reply[] = [];
    for (;;) {
      const scalar = this.#next();
      if (scalar === "incomplete") return complete;
      const whole = scalar === "opened" ? undefined : this.#close(scalar);
      if (whole) complete.push(whole);
    }
  }

  #next(): Reply | "opened" | "incomplete" {
    const end = this.#buffer.indexOf(CRLF, this.#position);
    if (end < 0) return "incomplete";
    const line = this.#buffer.toString("utf8", this.#position + 1, end);
    const after = end + CRLF.length;
    switch (String.fromCharCode(this.#buffer[this.#position] ?? 0)) {
      case "+":
        this.#position = after;
        return { kind: "simple", text: line };
      case "-":
        this.#position = after;
        return { kind: "error", text: line };
      case ":":
        this.#position = after;
        return { kind: "integer", digits: line };
      case "$":
        return this.#bulk(Number(line), after);
      case "*":
        this.#position = after;
        return this.#array(Number(line));
      default:
        throw new Error("the server sent something that is not RESP2");
    }
  }

  #bulk(length: number, start: number): Reply | "incomplete" {
    if (length < 0) {
      this.#position = start;
      return { kind: "bulk", bytes: null };
    }
    const end = start + length;
    if (this.#buffer.length < end + CRLF.length) return "incomplete";
    this.#position = end + CRLF.length;
    return { kind: "bulk", bytes: Buffer.from(this.#buffer.subarray(start, end)) };
  }

  #array(length: number): Reply | "opened" {
    if (length < 0) return { kind: "array", items: null };
    if (length === 0) return { kind: "array", items: [] };
    this.#open.push({ items: [], length });
    return "opened";
  }

  /** Files a finished value into the arrays still open; returns a top-level reply once whole. */
  #close(value: Reply): Reply | undefined {
    let finished = value;
    for (;;) {
      const parent = this.#open.at(-1);
      if (!parent) return finished;
      parent.items.push(finished);
      if (parent.items.length < parent.length) return undefined;
      this.#open.pop();
      finished = { kind: "array", items: parent.items };
    }
  }
}
