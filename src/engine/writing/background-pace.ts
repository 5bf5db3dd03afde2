/** The pace of work on whole segments in the background: it must not disturb the messages. */
import type { Clock } from '../../clock.ts'
import { Pauses } from '../../pauses.ts'
import type { Pace } from '../segments/scan-records.ts'

/** Bytes that are read in one turn of the event loop. Bounds the time of a turn to some 2 ms. */
const WINDOW_BYTES = 262_144
/** The work takes at most an eighth of the time. */
export const PAUSE_FACTOR = 7
/** At most half of the time, while the log is nearly full. */
export const PAUSE_FACTOR_UNDER_PRESSURE = 1
/** The longest pause, ms. A backup and the end of the process wait for the pause. */
const MAXIMUM_PAUSE_MS = 1_000

/** Somebody else needs the files, or the log closes: the work was given up. */
export class InterruptedError extends Error {
  readonly code = 'interrupted'

  constructor() {
    super('the work was interrupted')
  }
}

/**
 * A pace with a pause after each turn. The pause is the time that the turn took, times
 * `pauseFactor`. A turn rejects with `InterruptedError` once `isInterrupted` is true.
 */
export function createBackgroundPace(clock: Clock, pauseFactor: number, isInterrupted: () => boolean): Pace {
  const pauses = new Pauses(clock, { factor: pauseFactor, maximumMs: MAXIMUM_PAUSE_MS })
  return {
    windowBytes: WINDOW_BYTES,
    turn: async () => {
      await pauses.pause()
      if (isInterrupted()) throw new InterruptedError()
    },
  }
}
