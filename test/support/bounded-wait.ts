/**
 * The default time limit of a wait in tests, in milliseconds: far above the usual time, far below
 * the runner's own limit.
 */
const LONGEST_WAIT_MS = 30_000

/** The promise's value. Rejects with `what` if it does not come in time. */
export async function within<T>(promise: Promise<T>, what: string, ms: number = LONGEST_WAIT_MS): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms)
  try {
    return await Promise.race([promise, timedOut])
  } finally {
    clearTimeout(timer)
  }
}
