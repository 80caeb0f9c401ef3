/** Runs code of others, whose exceptions and rejections are not ours to die of. */
export function callListener(call: () => unknown): void {
  try {
    Promise.resolve(call()).catch(tell);
  } catch (error) {
    tell(error);
  }
}

function tell(error: unknown): void {
  console.error("leasehold: a listener threw", error);
}
