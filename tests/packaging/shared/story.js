import { LeaseClient, LeaseError } from "leasehold";
import { cached } from "leasehold/cache";
import { memory } from "leasehold/memory";
import { upstash } from "leasehold/upstash";

/**
 * One lease's life, with two clients of one host. Every row of the matrix runs this and shows what
 * it returns; it throws where anything is not as it should be.
 */
export async function story(host = memory()) {
  // The entry points share their classes, and each has its wasm.
  expect(await errorOf(() => upstash({ url: "nowhere", token: "" })), "INVALID");
  upstash({ url: "https://example.com", token: "a-token" });

  const [ours, theirs] = [new LeaseClient(host), new LeaseClient(host)];
  const key = `packaging:${crypto.randomUUID()}`;
  const lease = await ours.acquire(key);
  expect(await errorOf(() => theirs.acquire(key, { waitMs: 0 })), "HELD");
  await theirs.revoke(key);
  expect(await errorOf(() => lease.verify()), "LOST");
  expect(lease.signal.reason, "LOST");
  const next = await theirs.acquire(key);
  if (next.fence <= lease.fence) throw new Error("the fence did not rise");
  const { released } = await next.release();
  if (!released) throw new Error("not released");

  let loads = 0;
  const value = cached(ours, key, () => {
    loads += 1;
    return "loaded";
  });
  await value.get();
  if ((await value.get()) !== "loaded") throw new Error("no value");
  await value.close();
  const isWorkers = globalThis.navigator?.userAgent === "Cloudflare-Workers";
  if (loads !== (isWorkers ? 2 : 1)) throw new Error(`loaded ${loads} times`);
  return "acquired, refused, lost, released";
}

async function errorOf(call) {
  try {
    await call();
    return undefined;
  } catch (error) {
    return error;
  }
}

function expect(error, code) {
  if (!(error instanceof LeaseError) || error.code !== code) {
    throw new Error(`no LeaseError ${code}, but ${error}`, { cause: error });
  }
}
