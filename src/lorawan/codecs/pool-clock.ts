import type { PoolClock } from './script-pool.ts'

/** The machine's own, by a clock that is never set. */
export const systemPoolClock: PoolClock = {
  now: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
