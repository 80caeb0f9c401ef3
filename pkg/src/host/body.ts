/** Why a body is no text of ours. */
export type BodyFault = "broken" | "malformed" | "too-large";

/** Reads a text of at most `limit` bytes, and no byte more. */
export async function readText(
  request: Request,
  limit: number,
): Promise<{ readonly text: string } | BodyFault> {
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
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return "malformed";
  }
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
