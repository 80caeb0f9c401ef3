import { memoryHost } from "../support/hosts.ts";
import { contract } from "./suite.ts";

contract("memory", memoryHost);
