import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

// The pipe closes however this process ends, SIGKILL included; then the shell cleans up.
const SCRIPT = 'read -r _; kill -9 "$1"; rm -rf -- "$2"';

/** Kills the child and removes its directory should this process die before the child does. */
export async function guard(child: ChildProcess, directory: string): Promise<void> {
  const watchdog = spawn("sh", ["-c", SCRIPT, "watchdog", String(child.pid), directory], {
    // A terminal's Ctrl-C goes to the whole group, the watchdog must outlive it.
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.once("exit", () => watchdog.kill("SIGKILL"));
  await once(watchdog, "spawn");
  watchdog.unref();
}
