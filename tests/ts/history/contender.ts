/** A process that contends for keys until it is killed, and tells its parent what it believes. */

import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { upstash } from "leasehold/upstash";
import { contend } from "./contend.ts";
import { Rng } from "./rng.ts";

const [kind = "", url = "", token = "", seed = "0"] = process.argv.slice(2);
const host = kind === "redis" ? upstash({ url, token }) : http({ url, token });

await contend(
  new LeaseClient(host),
  new Rng(Number(seed)),
  () => Number(process.hrtime.bigint() / 1_000n),
  (told) => process.send?.(told),
  () => true,
);
