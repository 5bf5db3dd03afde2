/** Sends at a fixed rate. */

/**
 * A generator or broker that is further behind than this gives messages up instead of sending them
 * in a burst.
 */
const LONGEST_BURST_MS = 50

/**
 * Calls `send` about each ms with the number of messages that are due, until the returned function
 * is called.
 */
export function keepRate(perSecond: number, send: (due: number) => void): () => void {
  const startedAtMs = performance.now()
  let counted = 0
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAtMs) * perSecond) / 1000) - counted
    counted += due
    const longest = Math.ceil((perSecond * LONGEST_BURST_MS) / 1000)
    if (due > 0) send(Math.min(due, longest))
  }, 1)
  return () => clearInterval(timer)
}
