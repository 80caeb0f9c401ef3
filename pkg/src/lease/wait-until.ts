/** What keeps an invocation alive, where the runtime tells that without being asked: not here. */
export const ambientWaitUntil: ((promise: Promise<unknown>) => void) | undefined = undefined;
