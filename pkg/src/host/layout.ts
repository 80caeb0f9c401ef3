/** How keys are spread over objects: what the Worker sets, and whom to ask what is in force. */

import { type LeaseNamespace, narrowed } from "../backends/routing.js";
import type { WireResponse } from "../lease/backend.js";
import { inWasm, wasm } from "./instance.js";

/** What a Worker may set, by variables of these names or in code. */
export interface LayoutSettings {
  /**
   * `LEASEHOLD_SHARDS`: over how many objects to spread the keys, from 1 to 512, or `key` for an
   * object per key. To change it takes a step of the operator's: see `docs/host.md`.
   */
  readonly shards?: number | "key";
  /** `LEASEHOLD_JURISDICTION`: where the objects have to stay, such as `eu`. */
  readonly jurisdiction?: string;
}

/** A layout, or what every request is to be answered while the variables make none. */
export type Setting =
  | { readonly layout: string; readonly refused?: undefined }
  | { readonly layout?: undefined; readonly refused: WireResponse };

/** What the object that records the layout answers. */
export interface LayoutInForce {
  /** The layout whose objects decide, such as `64`. */
  readonly inForce: string;
  /** The one that follows. */
  readonly next?: string;
  /** In how many milliseconds; not known while the shards before it are being closed. */
  readonly inMs?: number;
}

/** Those that have been read: an isolate has one or two, and many requests. */
const settings = new Map<string, Setting>();

/** The layout that a Worker's variables set; `otherwise` is for those that it has not. */
export function layoutSetting(env: unknown, otherwise: LayoutSettings): Setting {
  const { LEASEHOLD_SHARDS, LEASEHOLD_JURISDICTION } = Object(env);
  const shards = String(LEASEHOLD_SHARDS ?? otherwise.shards ?? "key");
  const jurisdiction = String(LEASEHOLD_JURISDICTION ?? otherwise.jurisdiction ?? "");
  const variables = JSON.stringify([shards, jurisdiction]);
  const setting: Setting =
    settings.get(variables) ?? JSON.parse(inWasm(() => wasm.layout(shards, jurisdiction)));
  settings.set(variables, setting);
  return setting;
}

interface Id {
  readonly name?: string;
  toString(): string;
}

/** The binding of a Worker to the namespace that one of its objects is in. */
export function ownNamespace(env: unknown, layout: string, id: Id): LeaseNamespace | undefined {
  const jurisdictions = [undefined, inWasm(() => wasm.jurisdictionOf(layout))];
  return Object.values(Object(env))
    .filter(isNamespace)
    .find((namespace) =>
      jurisdictions.some((jurisdiction) => {
        const named = narrowed(namespace, jurisdiction).idFromName(id.name ?? "");
        return String(named) === String(id);
      }),
    );
}

function isNamespace(binding: unknown): binding is LeaseNamespace {
  // A binding to a service has any method that one asks it for.
  return Object(binding).constructor?.name === "DurableObjectNamespace";
}
