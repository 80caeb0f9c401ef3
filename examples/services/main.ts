/**
 * An instance of a service: registers, and tells which instances there are whenever that changes.
 *
 *     LEASEHOLD_URL=https://… LEASEHOLD_TOKEN=… node main.ts anna 8080
 *
 * TERM_MS shortens the term: the longest that a dead instance stays in the list.
 */

import { LeaseClient } from "leasehold";
import { httpFromEnv } from "leasehold/http";
import { instances, register } from "./registry.ts";

const [, , name = `node-${process.pid}`, port = "8080"] = process.argv;
const ttlMs = Number(process.env.TERM_MS ?? 10_000);
const leases = new LeaseClient(httpFromEnv());
const stopping = new AbortController();
const { signal } = stopping;

process.once("SIGTERM", () => stopping.abort());

const url = `http://127.0.0.1:${port}`;
const registered = register(leases, "shop", { name, url }, { signal, ttlMs });
try {
  for await (const present of instances(leases, "shop", { signal })) {
    console.log(present.map((instance) => `${instance.name} ${instance.url}`).join(", "));
  }
} catch (error) {
  if (!signal.aborted) throw error;
}
await registered;
