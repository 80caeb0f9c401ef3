/** No line of an event stream that carries a message of ours is longer. */
const MAX_LINE = 4_096;

/**
 * The data of each event in an event stream, in the one-line form that the endpoints send. Ends
 * with the stream, and with a line that does not.
 */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    while (rest.length <= MAX_LINE) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("data: ")) yield line.slice("data: ".length);
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
