import { HOSTS } from "../support/hosts.ts";
import { contract } from "./contract.ts";

for (const [name, start] of Object.entries(HOSTS)) contract(name, start);
