/**
 * The webhook as a server.
 *
 *     LEASEHOLD_URL=https://… LEASEHOLD_TOKEN=… node main.ts ledger.db
 *     curl localhost:<port> -H 'idempotency-key: 42' -d '{"cents":1999}'
 *
 * BANK_MS and MAIL_MS make the work long enough to be killed before or after the charge, TERM_MS the
 * term short enough to wait for.
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { LeaseClient } from "leasehold";
import { httpFromEnv } from "leasehold/http";
import { Ledger } from "./ledger.ts";
import { webhook } from "./webhook.ts";

const [, , file = "ledger.db"] = process.argv;
const { TERM_MS = 30_000, BANK_MS = 0, MAIL_MS = 0 } = process.env;
const times = { ttlMs: Number(TERM_MS), bankMs: Number(BANK_MS), mailMs: Number(MAIL_MS) };
const handle = webhook(new LeaseClient(httpFromEnv()), new Ledger(file), times, console.log);

const server = createServer(async (incoming, outgoing) => {
  const { method = "POST", headers } = incoming;
  const request = new Request("http://localhost/", {
    method,
    headers: { "idempotency-key": String(headers["idempotency-key"] ?? "") },
    body: await text(incoming),
  });
  const response = await handle(request).catch((error) => new Response(error, { status: 500 }));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
});
server.listen(0, () => console.log(`listening on ${(server.address() as AddressInfo).port}`));
