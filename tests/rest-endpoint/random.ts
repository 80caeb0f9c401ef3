/** A seeded xorshift generator of numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  // An all-zero state would stay zero for ever.
  let state = (seed ^ 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
