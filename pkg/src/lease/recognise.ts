import type { LeaseBackend } from "./backend.js";
import { argument, type Check, hasMethod } from "./check.js";

/** Things that are passed in a backend's place, and what to write instead. */
const TAKEN_FOR_A_BACKEND: readonly (readonly [
  is: (value: unknown) => boolean,
  hint: string | ((value: unknown) => string),
])[] = [
  [(value) => value === undefined || value === null, "is the binding or variable missing?"],
  [
    (value) => typeof value === "string" || value instanceof URL,
    "pass http({ url, token }) of leasehold/http, or upstash({ url, token }) of leasehold/upstash",
  ],
  [(value) => hasMethod(value, "then"), "await it"],
  [
    (value) => hasMethod(value, "fetch"),
    "pass durableObject(env.LEASES) or service(env.LEASES), not a stub or a service",
  ],
  [isNamespace, "pass durableObject(namespace) of leasehold/durable-object"],
  [(value) => hasMethod(value, "acquire", "inspect"), "that is a client already"],
  [
    (value) => hasMethod(value, "sendCommand", "duplicate"),
    "pass nodeRedis(client) or ioredis(client)",
  ],
  [(value) => hasMethod(value, "evalsha"), "pass upstash({ redis }) of leasehold/upstash"],
  [(value) => hasMethod(value, "send"), "pass redis(connection) of leasehold/redis"],
  [
    (value) => namespacesIn(value).length > 0,
    (value) => `pass durableObject(env.${namespacesIn(value)[0]}) of leasehold/durable-object`,
  ],
  [(value) => has(value, "url", "token"), "pass http(options) or upstash(options)"],
  [(value) => typeof value === "function", "call it, such as memory()"],
];

/** What a client asks. Functions have a `call`, and so do remote stubs, as any other method. */
export const BACKEND: Check = {
  must: "a backend, such as durableObject(env.LEASES)",
  is: (value) =>
    typeof value === "object" && hasMethod(value, "call") && !hasMethod(value, "capabilities"),
  hint: (value) => {
    const hint = TAKEN_FOR_A_BACKEND.find(([is]) => is(value))?.[1];
    return typeof hint === "function" ? hint(value) : hint;
  },
};

/** A binding to a namespace of Durable Objects. */
export const NAMESPACE: Check = {
  must: "a Durable Object namespace, such as env.LEASES",
  is: isNamespace,
  hint: (value) => {
    const [name] = namespacesIn(value);
    if (name !== undefined) return `pass env.${name}`;
    if (value === undefined) return "is it bound under this name in wrangler.toml?";
    return hasMethod(value, "fetch") ? "pass the namespace, not an object's stub" : undefined;
  },
};

/** A binding to another Worker. It has any method that one asks it for. */
export const SERVICE: Check = {
  must: "a service binding, such as env.LEASES",
  is: (value) => hasMethod(value, "fetch", "call"),
  hint: (value) => {
    if (isNamespace(value)) return "pass durableObject(namespace) of leasehold/durable-object";
    if (value === undefined) return "is it bound under this name in wrangler.toml?";
    return undefined;
  },
};

function isNamespace(value: unknown): boolean {
  return hasMethod(value, "idFromName", "get") && !hasMethod(value, "fetch");
}

function namespacesIn(value: unknown): readonly string[] {
  return Object.entries(Object(value)).flatMap(([name, bound]) =>
    isNamespace(bound) ? [name] : [],
  );
}

function has(value: unknown, ...names: readonly string[]): boolean {
  return names.every((name) => Reflect.get(Object(value), name) !== undefined);
}

/** @throws LeaseError `INVALID`, saying what to write instead. */
export function backendOf(value: LeaseBackend): LeaseBackend {
  return argument("backend", BACKEND, value);
}
