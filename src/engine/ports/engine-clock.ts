/** Time as the embedded engine sees it. */
import { systemClock } from '../../clock.ts'
import type { Clock } from '../../clock.ts'

/** The broker's clock, and what happens later by itself. */
export interface EngineClock extends Clock {
  /** Runs once after so many milliseconds, unless the returned function is called before. */
  after(ms: number, run: () => void): () => void
}

/** The machine's clock and Node's timers. */
export const systemEngineClock: EngineClock = {
  ...systemClock,
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
