/**
 * Leases for tests: on a clock that the test moves, from a host whose answers it scripts.
 *
 * @module
 */
export { type Behaviour, type Recorded, ScriptedBackend } from "./scripted-backend.js";
export { TestClock } from "./test-clock.js";
export { type TestLeases, type TestLeasesOptions, testLeases } from "./test-leases.js";
