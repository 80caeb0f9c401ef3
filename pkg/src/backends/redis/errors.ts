import { foreign } from "#redis-script";
import type { WireResponse } from "../../lease/backend.js";
import { BackendError } from "../../lease/errors.js";

/** The word that an error begins with is the server's own, and no secret. */
export function unclear(word = "something unreadable"): BackendError {
  return new BackendError(`The server answered ${word}: what became of the command is unknown.`);
}

/** An error that a server answered with begins with a word in capitals. */
export function isServersWord(error: unknown): error is { message: string } {
  const message = Reflect.get(Object(error), "message");
  return typeof message === "string" && /^[A-Z]{2,} /.test(message);
}

/** What an error of the server means: an answer, or that the script is to be sent in another form. */
export type Meaning = WireResponse | "no-script" | "no-key-locking";

/**
 * Tells a server's error by its words, which themselves go no further: they may quote the command, and
 * with it secrets. One that says nothing of what became of the command means nothing.
 */
export function meaningOf(error: string): Meaning | undefined {
  // What is quoted are words of the command, and these may be anything.
  const [words = ""] = error.split(/['"`]/, 1);
  const [, meaning] = KNOWN.find(([known]) => known.test(words)) ?? [];
  return meaning === "not-permitted" ? notPermitted(error) : meaning;
}

/** Words of errors, and what they mean. The first counts. */
const KNOWN: readonly [RegExp, Meaning | "not-permitted"][] = [
  [/NOSCRIPT/, "no-script"],
  // Before version 7 the line with the flag is no Lua to the server.
  [/Unexpected flag in script shebang|compiling script/, "no-key-locking"],
  [/WRONGTYPE|not an integer/, foreign],
  [
    /WRONGPASS|NOAUTH|Unauthorized/,
    refused(
      "DENIED",
      "unauthorized",
      "The server refuses the user or the token: check that they belong to this address.",
    ),
  ],
  [/NOPERM|The user executing the script can|ACL failure/, "not-permitted"],
  [
    /unknown command/,
    refused(
      "DENIED",
      "no-scripts",
      "The server does not run scripts: EVAL and EVALSHA are needed.",
    ),
  ],
  [
    /^(MOVED|ASK) /,
    refused(
      "INVALID",
      "cluster",
      "The server is a node of a cluster, which keeps the key on another: use a client for clusters.",
    ),
  ],
  [
    /^CROSSSLOT /,
    refused(
      "INVALID",
      "cluster",
      "The server is a node of a cluster, where keys cannot be listed.",
    ),
  ],
  [
    /max (daily request|requests) limit/,
    refused("UNAVAILABLE", "quota", "The database's request quota is used up."),
  ],
  [
    /READONLY/,
    passing("read-only", "The server is a replica, which takes no writes: connect to the primary."),
  ],
  [
    /MISCONF|NOREPLICAS/,
    passing(
      "cannot-persist",
      "The server takes no writes: it cannot persist them, or has too few replicas.",
    ),
  ],
  [/OOM/, passing("out-of-memory", "The server's memory is full.")],
  [/^LOADING /, passing("loading", "The server is loading its data.")],
  [/^BUSY /, passing("busy", "The server is busy with another script.")],
  [
    /^(CLUSTERDOWN|MASTERDOWN|TRYAGAIN) /,
    passing("cluster-down", "The part of the cluster that has the key is not there now."),
  ],
];

function refused(
  code: "DENIED" | "INVALID" | "UNAVAILABLE",
  reason: string,
  message: string,
): WireResponse {
  return { v: 1, outcome: "refused", code, reason, message };
}

/** The server can't now. */
function passing(reason: string, message: string): WireResponse {
  return { ...refused("UNAVAILABLE", reason, message), retryAfterMs: 500 };
}

/** Names the permission that is missing, as far as the server tells. */
function notPermitted(error: string): WireResponse {
  const [, command = ""] = /to run the '([a-z|]{1,16})'/i.exec(error) ?? [];
  const message = /channel/.test(error)
    ? "The user may not publish on the channels: allow those that begin with the prefix (&prefix:*)."
    : /keys|access a key/.test(error)
      ? "The user may not touch the keys: allow those that begin with the prefix (~prefix:*)."
      : command !== ""
        ? `The user may not run ${command.toUpperCase()}: allow it.`
        : "The user may not run a command that is needed: allow all that the documentation lists.";
  return refused("DENIED", "not-permitted", message);
}
