import { memory } from "leasehold/memory";
import { contract } from "./suite.ts";

contract("memory", async () => {
  const host = memory();
  return { carrier: () => host, close: async () => {} };
}, []);
