/** Runs code of others, whose exceptions are not ours to die of. */
export function callListener(call: () => void): void {
  try {
    call();
  } catch (error) {
    console.error("leasehold: a listener threw", error);
  }
}
