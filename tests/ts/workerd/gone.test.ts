/** Askers over HTTPS that go away while they wait: what the next one is kept waiting for them. */

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { Workers } from "./harness.ts";
import { acquire } from "./host.ts";

const TOKEN = "everything-0123456789";

/** Whether the runtime tells the Worker that a connection has gone, and what the next one waits then. */
const RUNTIMES = [
  {
    name: "where the runtime tells",
    flags: ["enable_request_signal"],
    told: true,
    atMostMs: 1_000,
  },
  { name: "where it does not", flags: [], told: false, atMostMs: 4_000 },
];

for (const { name, flags, told, atMostMs } of RUNTIMES) {
  describe(name, () => {
    let workers: Workers;

    before(async () => {
      workers = await Workers.start({
        name: "leasehold",
        entry: new URL(import.meta.resolve("leasehold/worker")),
        durableObjects: { LEASES: "LeaseHost" },
        vars: { LEASEHOLD_TOKENS: TOKEN },
        flags,
      });
    });
    after(() => workers.stop());

    for (const dead of [8, 100]) {
      test(`${dead} waiters that have gone cost the next one ${atMostMs} ms at the most`, async () => {
        const url = await workers.url();
        const client = () => new LeaseClient(http({ url, token: TOKEN }));
        const key = `behind ${dead}`;
        const waiters = async (count: number) => {
          while ((await client().inspect(key))?.waiters !== count);
        };
        const lease = await client().acquire(key);
        const killed = Array.from({ length: dead }, () => asking(url, key));
        await waiters(dead);
        const next = client().acquire(key, { waitMs: 30_000 });
        await waiters(dead + 1);
        for (const socket of killed) socket.resetAndDestroy();
        // Long enough for a word of it to be there, not for their places to be given up.
        await new Promise((wake) => setTimeout(wake, 500));
        await lease.verify();
        assert.equal(lease.wanted, told ? 1 : dead + 1);
        const released = performance.now();
        await lease.release();
        await (await next).release();
        const waited = performance.now() - released;
        assert.ok(waited < atMostMs, `${waited} ms`);
      });
    }
  });
}

/** A connection on which somebody waits for the key, as a process has it that is killed later. */
function asking(url: URL, key: string): Socket {
  const body = JSON.stringify(acquire(key, { waitMs: 20_000 }));
  const socket = connect(Number(url.port), url.hostname);
  socket.write(
    `POST /v1/acquire HTTP/1.1\r\nhost: host\r\nauthorization: Bearer ${TOKEN}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  return socket;
}
