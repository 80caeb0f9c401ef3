/**
 * A worker: takes runs from the database until there are none.
 *
 *     node main.ts runs.db anna          # in one terminal; stop it in the middle with Ctrl-Z
 *     node main.ts runs.db ben           # in another: takes over; then `fg` the first one
 *
 * TERM_MS and WORK_MS shorten the terms and the work, for watching.
 */

import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { LeaseError } from "leasehold";
import { Attempts, type Job, workOnce } from "./attempts.ts";

const [, , file = "runs.db", owner = `worker-${process.pid}`] = process.argv;
const termMs = Number(process.env.TERM_MS ?? 30_000);
const workMs = Number(process.env.WORK_MS ?? 60_000);

const attempts = new Attempts(new DatabaseSync(file, { timeout: 5_000 }), termMs);

const job: Job = async ({ run, input, attempt, fence }, signal) => {
  console.log(`${owner} begins run ${run}, attempt ${attempt}, fence ${fence}`);
  await sleep(workMs, undefined, { signal });
  return `${input}, by ${owner}`;
};

for (;;) {
  try {
    if (!(await workOnce(attempts, owner, job, termMs / 3))) break;
    console.log(`${owner} is done`);
  } catch (error) {
    if (!LeaseError.is(error)) throw error;
    console.log(`${owner} is refused: ${error.reason}`);
  }
}
