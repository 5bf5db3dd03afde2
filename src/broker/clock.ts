/** Time as the broker sees it; a parameter, so that a simulation can own it. */
export interface Clock {
  /** Milliseconds since 1970-01-01T00:00:00Z. */
  now(): number
  /** Runs once after the current turn of the event loop: what gathered meanwhile goes out together. */
  afterTurn(run: () => void): void
  /** Runs once after so many ms. */
  after(ms: number, run: () => void): void
}

/** The machine's clock and Node's event loop. */
export const systemClock: Clock = {
  now: () => Date.now(),
  afterTurn: (run) => void setImmediate(run),
  after: (ms, run) => void setTimeout(run, ms),
}
