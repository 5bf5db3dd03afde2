/**
 * Lets jobs gather, so that a message to another process takes several of them: to wake a process
 * costs more than to run a script. The first job after a quiet time does not wait.
 */
import type { Clock, SteadyMs } from '../../clock.ts'
import { GATHER_MS } from './script-limits.ts'

export type GatheringClock = Pick<Clock, 'steady' | 'after'>

/** Decides when the jobs that wait are handed out. */
export class Gathering {
  readonly #clock: GatheringClock
  readonly #handOut: () => void
  #handedMs = -Infinity as SteadyMs
  #isInTurn = false
  #isClosed = false
  #callOff: (() => void) | undefined

  /** `handOut` is called once for all jobs that wait. */
  constructor(clock: GatheringClock, handOut: () => void) {
    this.#clock = clock
    this.#handOut = handOut
  }

  /** Jobs were handed out: jobs that come now have time to gather. */
  handed(): void {
    this.#handedMs = this.#clock.steady()
  }

  /** A job waits. With `isEnough` there are so many that waiting for more would save nothing. */
  wants(isEnough: boolean): void {
    if (this.#isInTurn) return
    const leftMs = isEnough ? 0 : this.#handedMs + GATHER_MS - this.#clock.steady()
    if (leftMs > 0) {
      this.#callOff ??= this.#clock.after(leftMs, () => this.#now())
      return
    }
    this.#isInTurn = true
    setImmediate(() => this.#now())
  }

  #now(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#isInTurn = false
    if (!this.#isClosed) this.#handOut()
  }

  /** From now on nothing is handed out. */
  close(): void {
    this.#isClosed = true
    this.#callOff?.()
    this.#callOff = undefined
  }
}
