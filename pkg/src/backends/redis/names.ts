/** What things are called in a database, all with one prefix. */
export class Names {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * A key's document. The part in braces decides where a cluster keeps it, and the key's entries with
   * it; `k:` keeps it from being empty whatever the key is.
   */
  document(key: string): string {
    return `${this.#prefix}:{k:${key}}:lease`;
  }

  /** The key whose document has this name. */
  key(document: string): string | undefined {
    const [before, after] = [`${this.#prefix}:{k:`, "}:lease"];
    const isOurs = document.startsWith(before) && document.endsWith(after);
    return isOurs ? document.slice(before.length, -after.length) : undefined;
  }

  /** How many records these keys have, and their names. */
  records(keys: readonly string[]): string[] {
    const records = keys.flatMap((key) => [
      this.document(key),
      `${this.#prefix}:{k:${key}}:entries`,
    ]);
    return [String(records.length), ...records];
  }

  /** Where a key's watchers are told of changes, by what stands for the key. */
  watchers(key: string): string {
    return `${this.#prefix}:watch:${key}`;
  }

  /** Where a waiter is told that it may be its turn, by what stands for its op. */
  waiter(op: string): string {
    return `${this.#prefix}:wake:${op}`;
  }
}
