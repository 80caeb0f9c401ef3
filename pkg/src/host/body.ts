/** What a request's body turned out to be. */
export type Body =
  | { readonly record: Record<string, unknown> }
  | "broken"
  | "malformed"
  | "too-large";

/** Reads a JSON object of at most `limit` bytes, and no byte more. */
export async function readRecord(request: Request, limit: number): Promise<Body> {
  if (Number(request.headers.get("content-length") ?? 0) > limit) {
    return "too-large";
  }
  let bytes: Uint8Array | undefined;
  try {
    bytes = await readUpTo(request.body, limit);
  } catch {
    return "broken";
  }
  if (bytes === undefined) {
    return "too-large";
  }
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    return isRecord(value) ? { record: value } : "malformed";
  } catch {
    return "malformed";
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

async function readUpTo(
  body: ReadableStream<Uint8Array> | null,
  limit: number,
): Promise<Uint8Array | undefined> {
  const bytes = new Uint8Array(limit);
  let length = 0;
  const reader = body?.getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk?.value === undefined) {
      return bytes.subarray(0, length);
    }
    if (length + chunk.value.length > limit) {
      await reader?.cancel();
      return undefined;
    }
    bytes.set(chunk.value, length);
    length += chunk.value.length;
  }
}
