/** Waits for facts of other processes, which tell nobody when they change. */
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 20

/** Resolves with the time that it took (ms), or with Infinity when the time (ms) was over. */
export async function until(isThere: () => boolean | Promise<boolean>, longestMs: number): Promise<number> {
  const startMs = performance.now()
  for (;;) {
    if (await isThere()) return performance.now() - startMs
    if (performance.now() - startMs > longestMs) return Infinity
    await sleep(LOOK_MS)
  }
}
