/**
 * The name of the object that decides about a key: the key itself, so each has its own, or one of
 * `shards` objects by a hash that never changes.
 */
export function objectName(key: string, shards: number | undefined): string {
  return shards === undefined ? key : `shard-${fnv1a(key) % shards}`;
}

/** FNV-1a of the key's UTF-8, 32 bits. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  return hash >>> 0;
}
