/**
 * Two clocks. The machine's clock tells the time of day, and steps when somebody or NTP sets it.
 * The steady clock never steps: every duration is measured by it. They have types of their own, so
 * that a time of day where a duration is measured does not compile.
 */

declare const STEADY: unique symbol

/**
 * A moment of the steady clock: ms since 1970 by the machine's clock as it was when the process
 * began, and since then without a step.
 */
export type SteadyMs = number & { readonly [STEADY]: true }

/** Time as the broker sees it; a parameter, so that a simulation can own it. */
export interface Clock {
  /**
   * The time of day, ms since 1970: for what people read, and for what others have dated. It may
   * step in both directions.
   */
  now(): number
  /** For durations: it never steps, and goes on while the machine's clock is set. */
  steady(): SteadyMs
  /**
   * Runs once after the current turn of the event loop: what gathered meanwhile goes out together.
   */
  afterTurn(run: () => void): void
  /** Runs once after so many ms. The function that comes back cancels it. */
  after(ms: number, run: () => void): () => void
}

/** So many ms after a moment. */
export function later(moment: SteadyMs, ms: number): SteadyMs {
  return (moment + ms) as SteadyMs
}

/**
 * The time of day of a moment, as the machine's clock tells it now: to be stored, for the next
 * process.
 */
export function dayTimeOf(moment: SteadyMs, clock: Clock): number {
  return clock.now() - (clock.steady() - moment)
}

/** The moment of a time of day that an earlier process has stored. */
export function momentOf(dayTimeMs: number, clock: Clock): SteadyMs {
  return later(clock.steady(), dayTimeMs - clock.now())
}

const { timeOrigin } = performance

/** The steady clock of this process, in whole ms. */
export function steadyNow(): SteadyMs {
  return Math.floor(timeOrigin + performance.now()) as SteadyMs
}

/** The machine's clocks and Node's event loop. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: steadyNow,
  afterTurn: (run) => void setImmediate(run),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
