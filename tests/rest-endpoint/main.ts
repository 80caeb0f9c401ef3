import { parseArgs } from "node:util";
import { RestEndpoint } from "./endpoint.ts";
import { RedisServer } from "./server-process.ts";

const USAGE = `node main.ts [options]
  --redis-port <n>    use the redis on this loopback port (default: start one)
  --port <n>          listen here (default: any free port)
  --token <text>      default: a random one
  --read-only-token <text>
  --seed <n>          for faults with a probability
  --plain-scripts     let redis reject the allow-key-locking flag
  --strict-scripts    fail on undeclared keys and misplaced flags
  --unbilled          don't count commands
  --help`;

const { values } = parseArgs({
  options: {
    "redis-port": { type: "string" },
    port: { type: "string" },
    token: { type: "string" },
    "read-only-token": { type: "string" },
    seed: { type: "string" },
    "plain-scripts": { type: "boolean", default: false },
    "strict-scripts": { type: "boolean", default: false },
    unbilled: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(USAGE);
else await run();

async function run(): Promise<void> {
  const given = values["redis-port"];
  await using own = given === undefined ? await RedisServer.start() : null;
  const port = own?.port ?? Number(given);
  await using endpoint = await RestEndpoint.start({
    redis: { port },
    supportsKeyLocking: !values["plain-scripts"],
    strictScripts: values["strict-scripts"],
    billed: !values.unbilled,
    ...(values.port !== undefined && { port: Number(values.port) }),
    ...(values.token !== undefined && { token: values.token }),
    ...(values["read-only-token"] !== undefined && { readOnlyToken: values["read-only-token"] }),
    ...(values.seed !== undefined && { seed: Number(values.seed) }),
  });
  console.log(`url ${endpoint.url}\ntoken ${endpoint.token}`);
  const stopped = Promise.withResolvers<void>();
  process.once("SIGINT", stopped.resolve).once("SIGTERM", stopped.resolve);
  await stopped.promise;
}
