import type { WireDoneState, WireHolderState, WireKeyState } from "./backend.js";
import type { Json } from "./json.js";

/** A key as an observer sees it. Times are in milliseconds. No credential is in it. */
export interface KeyState {
  readonly key: string;
  /**
   * Differs after every change but a renewal: what to give `watch` as `after`. Opaque, but that it
   * is `"0"` for a key of which the host knows nothing.
   */
  readonly revision: string;
  /** Who holds the key, in the order of their slots. */
  readonly holders: readonly HolderState[];
  /** How many wait for it. */
  readonly waiters: number;
  /** That its work is done, for as long as the result is kept. */
  readonly done?: DoneState;
}

/** A live grant, as an observer sees it. */
export interface HolderState {
  /** Who holds the key. */
  readonly holder: string;
  readonly fence: bigint;
  /** Its place among the key's holders, from 0. */
  readonly slot: number;
  /** The most holders of the key, itself included, that it puts up with. */
  readonly limit: number;
  /** Time since the grant. */
  readonly ageMs: number;
  /** Time until the host frees its place unless the lease is renewed. */
  readonly remainingMs: number;
  /** What the holder has set with `setEntry`. */
  readonly entries: Readonly<Record<string, Json>>;
}

/** Work that is done, as an observer sees it. */
export interface DoneState {
  /** The fence under which it was done. */
  readonly fence: bigint;
  /** Time since then. */
  readonly ageMs: number;
  /** How much longer the result is kept. */
  readonly remainingMs: number;
}

export function keyStateOf({ key, revision, holders, waiters, done }: WireKeyState): KeyState {
  return {
    key,
    revision,
    holders: holders.map(holderStateOf),
    waiters,
    ...(done !== undefined && { done: fenced(done) }),
  };
}

/** Whether nobody holds the key or waits for it, and its work is not done. */
export function isFree({ holders, waiters, done }: KeyState): boolean {
  return holders.length === 0 && waiters === 0 && done === undefined;
}

function holderStateOf(holder: WireHolderState): HolderState {
  return { ...fenced(holder), entries: holder.entries as Record<string, Json> };
}

function fenced<T extends WireDoneState | WireHolderState>(state: T): T & { fence: bigint } {
  return { ...state, fence: BigInt(state.fence) };
}
