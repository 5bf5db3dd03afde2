/**
 * The longest that a test waits for one thing, in milliseconds: far above what it takes, far below
 * the runner's own bound.
 */
const LONGEST_WAIT_MS = 30_000

/** The promise's value; rejects with what was waited for when it does not come in time. */
export async function within<T>(promise: Promise<T>, what: string, ms: number = LONGEST_WAIT_MS): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`waited ${ms} ms for ${what}`)), ms)
  try {
    return await Promise.race([promise, timedOut])
  } finally {
    clearTimeout(timer)
  }
}
