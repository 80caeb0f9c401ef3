/** Finds the Durable Object that decides about a key. */

import type { WireResponse } from "../lease/backend.js";

/** What this package needs of a Durable Object namespace binding. */
export interface LeaseNamespace {
  // The runtime's types brand ids and stubs, each namespace its own: `any` fits them all.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  idFromName(name: string): any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  get(id: any, options?: any): any;
  // biome-ignore lint/suspicious/noExplicitAny: see above
  jurisdiction?(jurisdiction: any): any;
}

/** The core's word on layouts. */
export interface Layouts {
  objectName(layout: string, key: string): string | undefined;
  jurisdictionOf(layout: string): string | undefined;
}

/** What each namespace's objects have last told. Theirs alone to say, and the same for everybody. */
const told = new WeakMap<LeaseNamespace, string>();

/** Asks by the layout that the objects have told. */
export class Router<Stub> {
  readonly #namespace: LeaseNamespace;
  readonly #layouts: Layouts;
  readonly #first: string;
  readonly #location: string | undefined;

  /** Until they have told one, `first` is tried. */
  constructor(
    namespace: LeaseNamespace,
    layouts: Layouts,
    first: string,
    location: string | undefined,
  ) {
    this.#namespace = namespace;
    this.#layouts = layouts;
    this.#first = first;
    this.#location = location;
  }

  /** Sends to the object that decides about a key. */
  ask(key: string, send: (stub: Stub) => Promise<WireResponse>): Promise<WireResponse> {
    return this.askBy((layout) => send(this.stub(layout, this.#name(layout, key))));
  }

  /** Sends by the layout that was last told, and once more if the answer tells another. */
  async askBy(send: (layout: string) => Promise<WireResponse>): Promise<WireResponse> {
    const layout = told.get(this.#namespace) ?? this.#first;
    const answer = await send(layout);
    const { reason, layout: right = layout } = answer;
    // A later version may tell a layout that this one can't read.
    if (reason !== "wrong-object" || right === layout || this.#name(right, "") === "") {
      return answer;
    }
    told.set(this.#namespace, right);
    return send(right);
  }

  /** One object of a layout. */
  stub(layout: string, name: string): Stub {
    const within = narrowed(this.#namespace, this.#layouts.jurisdictionOf(layout));
    const hint = this.#location === undefined ? {} : { locationHint: this.#location };
    // A new stub each time, since one that has failed once may fail for ever.
    return within.get(within.idFromName(name), hint) as Stub;
  }

  #name(layout: string, key: string): string {
    return this.#layouts.objectName(layout, key) ?? "";
  }
}

/** The part of a namespace whose objects stay within a jurisdiction. */
export function narrowed(
  namespace: LeaseNamespace,
  jurisdiction: string | undefined,
): LeaseNamespace {
  if (jurisdiction === undefined) {
    return namespace;
  }
  try {
    return namespace.jurisdiction?.(jurisdiction) ?? namespace;
  } catch (error) {
    // The local runtime has none, so there the name alone keeps them apart.
    if (/not implemented/.test(String(error))) {
      return namespace;
    }
    throw error;
  }
}
