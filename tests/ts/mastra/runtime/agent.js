/**
 * One process of an agent that runs in several: Mastra's own runtime, with a model that answers after
 * a while, and PubSub over a socket. Does what its parent says.
 */
import { Agent } from "@mastra/core/agent";
import { UnixSocketPubSub } from "@mastra/core/events";
import { Mastra } from "@mastra/core/mastra";
import { MockMemory } from "@mastra/core/memory";
import { InMemoryStore } from "@mastra/core/storage";
import { MastraLanguageModelV2Mock } from "@mastra/core/test-utils/llm-mock";
import { LeaseClient } from "leasehold";
import { http } from "leasehold/http";
import { attachLease, leaseProvider } from "leasehold/mastra";
import { upstash } from "leasehold/upstash";

const { BACKEND, LEASE_HOST, LEASE_TOKEN, SECRET, THREAD, SOCKET, RUN_MS } = process.env;
const thread = { resourceId: "resource", threadId: THREAD };
const tell = (message) => process.send?.(message);

process.on("uncaughtException", (error) => tell({ uncaught: String(error) }));
process.on("unhandledRejection", (error) => tell({ uncaught: String(error) }));

const model = new MastraLanguageModelV2Mock({
  doStream: async ({ prompt }) => {
    tell({ model: JSON.stringify(prompt) });
    const stream = new ReadableStream({
      async start(controller) {
        controller.enqueue({ type: "stream-start", warnings: [] });
        controller.enqueue({
          type: "response-metadata",
          id: "1",
          modelId: "mock",
          timestamp: new Date(0),
        });
        await new Promise((wake) => setTimeout(wake, Number(RUN_MS)));
        controller.enqueue({ type: "text-start", id: "1" });
        controller.enqueue({ type: "text-delta", id: "1", delta: "done" });
        controller.enqueue({ type: "text-end", id: "1" });
        const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
        controller.enqueue({ type: "finish", finishReason: "stop", usage });
        controller.close();
      },
    });
    return { stream };
  },
});

const pubsub = new UnixSocketPubSub(SOCKET);
if (LEASE_HOST !== undefined) {
  const backend = { http, upstash }[BACKEND];
  const leases = new LeaseClient(backend({ url: LEASE_HOST, token: LEASE_TOKEN }));
  attachLease(pubsub, leaseProvider(leases, { secret: SECRET }));
}
const memory = new MockMemory();
const agent = new Agent({ id: "agent", name: "agent", instructions: "none", model, memory });
new Mastra({ agents: { agent }, pubsub, storage: new InMemoryStore(), logger: false });

const streamOptions = { memory: { resource: thread.resourceId, thread: thread.threadId } };
const ifIdle = { behavior: "wake", streamOptions };
const ways = {
  send: (contents) =>
    agent.sendSignal(
      { type: "user", contents },
      { ...thread, ifIdle, ifActive: { behavior: "deliver" } },
    ),
  queue: (contents) => agent.queueMessage(contents, { ...thread, ifIdle }),
};

async function say({ how, text }) {
  const { action, runId, output } = await ways[how](text).accepted;
  tell({ said: text, action, runId });
  await output?.consumeStream();
}

const subscription = await agent.subscribeToThread(thread);
process.on("message", (message) => {
  say(message).catch((error) => tell({ uncaught: String(error) }));
});
(async () => {
  for await (const { type } of subscription.stream) tell({ part: type });
})();
tell({ ready: true });
