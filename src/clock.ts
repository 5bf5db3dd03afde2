/**
 * Two clocks. The machine's clock tells the time of day, and steps when somebody or NTP sets it.
 * The steady clock never steps: every duration is measured by it. A moment of the steady clock has
 * a type of its own, so that code which measures a duration by the time of day does not compile.
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
   * The time of day, ms since 1970: for times that people read, and to compare with dates from
   * elsewhere. The time of day may step in both directions.
   */
  now(): number
  /** The current moment, to measure durations: no setting of the machine's clock changes them. */
  steady(): SteadyMs
  /** The CPU time that this process has taken, with all its threads, ms. */
  cpu(): number
  /** Runs the function once, after the current turn of the event loop. */
  afterTurn(run: () => void): void
  /** Runs the function once, after `ms` ms. The returned function cancels that. */
  after(ms: number, run: () => void): () => void
  /** Blocks the process for `ms` ms, or parts of one: nothing else runs meanwhile. */
  rest(ms: number): void
}

/** The moment `ms` ms after `moment`. */
export function later(moment: SteadyMs, ms: number): SteadyMs {
  return (moment + ms) as SteadyMs
}

/**
 * The time of day of a moment, by the machine's clock as it is set now. A moment is stored in this
 * form, because the next process has another steady clock.
 */
export function dayTimeOf(moment: SteadyMs, clock: Clock): number {
  return clock.now() - (clock.steady() - moment)
}

/** The moment that an earlier process stored as a time of day; see `dayTimeOf`. */
export function momentOf(dayTimeMs: number, clock: Clock): SteadyMs {
  return later(clock.steady(), dayTimeMs - clock.now())
}

const { timeOrigin } = performance
/** Nobody wakes a wait for this number. */
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4))

/** The steady clock of this process, in whole ms. */
export function steadyNow(): SteadyMs {
  return Math.floor(timeOrigin + performance.now()) as SteadyMs
}

/** The machine's clocks and Node's event loop. */
export const systemClock: Clock = {
  now: () => Date.now(),
  steady: steadyNow,
  cpu: () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
  afterTurn: (run) => void setImmediate(run),
  after: (ms, run) => {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
  rest: (ms) => void Atomics.wait(NEVER_WOKEN, 0, 0, ms),
}
