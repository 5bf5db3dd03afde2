/** Waiting, as the adapters see it; a parameter, so that a test moves time itself. */
export interface Timers {
  /**
   * Runs once after so many milliseconds, unless it was cancelled by the function that comes back.
   */
  after(ms: number, run: () => void): () => void
}

/** The machine's own timers. None of them keeps the process alive. */
export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
