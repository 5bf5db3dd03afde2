/** Where the rooms get the time from; a test hands in one that it moves itself. */
export interface Clock {
  /**
   * The time of day, in milliseconds since 1970-01-01T00:00:00Z. It steps when the machine's clock
   * is set.
   */
  now(): number
  /** For durations: milliseconds since some moment before, by a clock that is never set. */
  elapsedMs(): number
}

/** The machine's own clocks. */
export const systemClock: Clock = { now: () => Date.now(), elapsedMs: () => performance.now() }
