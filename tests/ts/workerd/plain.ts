/** Values as JSON that JSON has no form for: what RPC carries and a host has to refuse. */

type Stand = { readonly $: string };

/** To JSON text. */
export function encode(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown): unknown => {
    if (inner === undefined || typeof inner === "bigint") {
      return { $: inner === undefined ? "undefined" : `${inner}n` };
    }
    return typeof inner === "number" && !Number.isFinite(inner) ? { $: String(inner) } : inner;
  });
}

/** From JSON text. */
export function decode(text: string): unknown {
  return restore(JSON.parse(text));
}

function restore(value: unknown): unknown {
  if (typeof value !== "object" || value === null) {
    return value;
  }
  if (Array.isArray(value)) {
    return value.map(restore);
  }
  if ("$" in value) {
    const { $: name } = value as Stand;
    if (name === "undefined") {
      return undefined;
    }
    return name.endsWith("n") ? BigInt(name.slice(0, -1)) : Number(name);
  }
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, restore(inner)]));
}
