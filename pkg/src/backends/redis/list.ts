import type { WireRequest, WireResponse } from "../../lease/backend.js";
import { unclear } from "./errors.js";
import type { Names } from "./names.js";

/** How many names are looked at in the first step. It doubles as long as nothing is found. */
const FIRST_COUNT = 100;

/** How often it doubles. */
const MAX_DOUBLINGS = 3;

/** How many steps there are at most before an answer. */
const MAX_SCANS = 8;

/** The most keys that are read in one go, so that none keeps the server for long. */
const MAX_READ = 100;

/** How a list asks. */
export interface Asking {
  /** Sends a command, and gives the words of its reply or what is to be answered instead. */
  scan(command: string[]): Promise<string[] | WireResponse>;
  /** Reads the documents of these keys. */
  read(keys: readonly string[]): Promise<WireResponse>;
}

/** Goes through the names of a database, and reads the documents found. */
export async function list(
  { prefix = "", after = "0" }: WireRequest,
  names: Names,
  { scan, read }: Asking,
): Promise<WireResponse> {
  if (!isCursor(after)) {
    const message = "after must be what an earlier answer said";
    return { v: 1, outcome: "refused", code: "INVALID", reason: "after", message };
  }
  const pattern = names.document(`${prefix.replace(/[*?[\]\\]/g, "\\$&")}*`);
  let cursor = after;
  // The same name may come more than once.
  const found = new Set<string>();
  for (let scans = 0; scans < MAX_SCANS && found.size === 0; scans += 1) {
    const count = FIRST_COUNT << Math.min(scans, MAX_DOUBLINGS);
    const command = ["SCAN", cursor, "MATCH", pattern, "COUNT", String(count)];
    const reply = await scan(command);
    if (!Array.isArray(reply)) return reply;
    const [next = "", ...documents] = reply;
    if (!isCursor(next)) throw unclear();
    cursor = next;
    for (const document of documents) {
      const key = names.key(document);
      if (key !== undefined) found.add(key);
    }
    if (cursor === "0") break;
  }
  const keys = [...found];
  const states = [];
  for (let from = 0; from < keys.length; from += MAX_READ) {
    const answer = await read(keys.slice(from, from + MAX_READ));
    if (answer.outcome !== "listed") return answer;
    states.push(...(answer.states ?? []));
  }
  return { v: 1, outcome: "listed", states, ...(cursor !== "0" && { after: cursor }) };
}

function isCursor(word: string): boolean {
  return /^[0-9]+$/.test(word);
}
