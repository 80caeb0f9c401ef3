import {
  argument,
  type Check,
  callback,
  form,
  hasMethod,
  having,
  optionsOf,
  required,
  type Table,
  text,
} from "../../lease/check.js";
import { systemClock } from "../../lease/clock.js";
import { invalid, LeaseError } from "../../lease/errors.js";
import { type Fenced, type FenceRecord, fencedOut, record } from "./fenced.js";

/** An object as it is stored. */
export interface StoredObject {
  readonly text: string;
  /** Its ETag, as the store wants it back. */
  readonly etag: string;
}

/** Objects with a conditional put. */
export interface ObjectStore {
  get(name: string): Promise<StoredObject | undefined>;
  /**
   * Stores the text if the object still has this ETag, or if there is none and none is given.
   *
   * @returns Whether it was stored.
   */
  put(name: string, text: string, etag: string | undefined): Promise<boolean>;
}

const STORE: Check = {
  must: "r2Objects(bucket), s3Objects(options) or an ObjectStore of your own",
  is: (value) => hasMethod(value, "get", "put") && !hasMethod(value, "head"),
  hint: (value) => (hasMethod(value, "head") ? "pass r2Objects(bucket)" : undefined),
};
const NAME = text(1_024);
const TEXT: Check = { must: "a string", is: (value) => typeof value === "string" };

/** How often a write is tried while others write the same object. */
const ATTEMPTS = 16;
/** Between two of them. */
const LONGEST_PAUSE_MS = 200;

/**
 * An object that belongs to one lease key: it carries the fence that it was written under, and is
 * only ever replaced under one that is as high.
 *
 * The first line of what is stored is the guard's: a line of JSON with the fence, and a random id,
 * since the ETag of equal texts is equal and would let a stale writer pass.
 */
export class FencedObject {
  readonly #store: ObjectStore;
  readonly #name: string;

  constructor(store: ObjectStore, name: string) {
    this.#store = argument("store", STORE, store);
    this.#name = argument("name", NAME, name);
  }

  /** The text; undefined if nothing was written yet. */
  async read(): Promise<string | undefined> {
    const found = await this.#store.get(this.#name);
    return found && this.#open(found).text;
  }

  /**
   * Notes the fence, before anything is written.
   *
   * @returns The text as the holders before have left it: none of them can change it any more.
   * @throws LeaseError `LOST`, reason `fenced-out`, if a newer holder was here; what the store
   * throws, in which case nothing is known.
   */
  advance(lease: Fenced): Promise<string | undefined> {
    return this.#replace(lease, undefined);
  }

  /**
   * Stores the text.
   *
   * @throws LeaseError as `advance` does, with nothing written.
   */
  async write(lease: Fenced, text: string): Promise<void> {
    await this.#replace(lease, argument("text", TEXT, text));
  }

  /** Stores a new text, or the present one under a new fence; what was there before. */
  async #replace(lease: Fenced, text: string | undefined): Promise<string | undefined> {
    const ours = record(lease);
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const found = await this.#store.get(this.#name);
      const before = found && this.#open(found);
      if (before !== undefined && (before.key !== ours.key || before.slot !== ours.slot)) {
        throw invalid("lease", `must be on ${JSON.stringify(before.key)}, slot ${before.slot}`);
      }
      if (before !== undefined && before.fence > ours.fence) {
        throw fencedOut(lease);
      }
      if (text === undefined && before?.fence === ours.fence) {
        return before.text;
      }
      const sealed = seal(ours, text ?? before?.text);
      if (await this.#store.put(this.#name, sealed, found?.etag)) {
        return before?.text;
      }
      await pause(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS));
    }
    throw this.#unavailable(ours.key, "contended", "was written by others at every attempt");
  }

  /** What was stored by `seal`. */
  #open({ text }: StoredObject): FenceRecord & { readonly text: string | undefined } {
    const [head = "", ...lines] = text.split("\n");
    try {
      const { key, slot, fence, id } = JSON.parse(head);
      if ([key, fence, id].every((value) => typeof value === "string")) {
        return { key, slot, fence, text: lines.length === 0 ? undefined : lines.join("\n") };
      }
    } catch {
      // Not JSON: told below.
    }
    throw this.#unavailable(
      undefined,
      "foreign-value",
      "holds something that no guard has written",
    );
  }

  #unavailable(key: string | undefined, reason: string, what: string): LeaseError {
    const message = `The object ${JSON.stringify(this.#name)} ${what}.`;
    return new LeaseError("UNAVAILABLE", message, { key, reason });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((wake) => systemClock.setTimeout(wake, ms));
}

/** The guard's line, and the text below it if there is one. */
function seal(lease: FenceRecord, text: string | undefined): string {
  const head = JSON.stringify({ ...lease, id: crypto.randomUUID() });
  return text === undefined ? head : `${head}\n${text}`;
}

/** What is used of an R2 bucket. */
export interface R2Like {
  get(name: string): Promise<{ readonly etag: string; text(): Promise<string> } | null>;
  put(name: string, text: string, options: R2Condition): Promise<unknown>;
}

const BUCKET = having("an R2 bucket, such as env.BUCKET", "get", "put");

/** On what condition R2 stores an object. */
export interface R2Condition {
  readonly onlyIf: { readonly etagMatches: string } | { readonly etagDoesNotMatch: string };
}

/** Objects in an R2 bucket, by a Worker's binding. R2 takes one write per second and name. */
export function r2Objects(bucket: R2Like): ObjectStore {
  argument("bucket", BUCKET, bucket);
  return {
    async get(name) {
      const found = await bucket.get(name);
      return found === null ? undefined : { text: await found.text(), etag: found.etag };
    },
    async put(name, text, etag) {
      const onlyIf = etag === undefined ? { etagDoesNotMatch: "*" } : { etagMatches: etag };
      return (await bucket.put(name, text, { onlyIf })) !== null;
    },
  };
}

/** How to reach a bucket by the S3 API. */
export interface S3Options {
  /** The bucket's address; an object's name is put behind it. */
  readonly url: string;
  /** Sends a request, signed, once: a client that repeats a put by itself gets its own refusal. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

const S3: Table<S3Options> = {
  url: required(form("the bucket's address, such as https://s3.example/bucket", /^https?:\/\//)),
  fetch: required(callback),
};
const SUCCESS = 200;
const ABSENT = 404;
/** Somebody else wrote: the ETag differs, two puts met. */
const CONFLICTS = [412, 409];
const REFUSALS = [401, 403];

/**
 * Objects in S3, or in a service that honours `If-Match` and `If-None-Match` on a put and answers
 * 412. Some that call themselves compatible ignore the condition: try one first.
 */
export function s3Objects(options: S3Options): ObjectStore {
  const { url, fetch } = optionsOf(S3, options);
  const address = (name: string) =>
    `${url.replace(/\/$/, "")}/${name.split("/").map(encodeURIComponent).join("/")}`;
  return {
    async get(name) {
      const response = await fetch(address(name), { method: "GET" });
      if (response.status === ABSENT) {
        return undefined;
      }
      const etag = response.headers.get("etag");
      if (response.status !== SUCCESS || etag === null) {
        throw unserved(response, "get");
      }
      return { text: await response.text(), etag };
    },
    async put(name, text, etag) {
      const headers: HeadersInit =
        etag === undefined ? { "if-none-match": "*" } : { "if-match": etag };
      const response = await fetch(address(name), { method: "PUT", headers, body: text });
      const { ok, status } = response;
      if (status === ABSENT && etag === undefined) {
        throw invalid("url", "must be that of a bucket: there is none, says the store");
      }
      // Not there, but it was: somebody has deleted it.
      if (ok || CONFLICTS.includes(status) || status === ABSENT) return ok;
      throw unserved(response, "put");
    },
  };
}

/** The error for an answer that says nothing about the object. */
function unserved({ status }: Response, asked: string): LeaseError {
  const text = `The object store answered ${status} to a ${asked}.`;
  return REFUSALS.includes(status)
    ? new LeaseError("DENIED", text, { reason: "unauthorized" })
    : new LeaseError("UNAVAILABLE", text, { reason: "unreachable" });
}
