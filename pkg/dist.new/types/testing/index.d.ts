/**
 * A clock that a test moves, and a host whose answers a test scripts.
 *
 * @module
 */
export { type Behaviour, type Recorded, ScriptedBackend } from "./scripted-backend.js";
export { TestClock } from "./test-clock.js";
