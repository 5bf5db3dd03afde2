/**
 * The clock of the log: that of the servers, which stamp each message. The machine's own clock may
 * be wrong, so it is not compared with their times.
 */
import type { Clock, SteadyMs } from '../../clock.ts'

export class LogClock {
  readonly #clock: Pick<Clock, 'now' | 'steady'>
  /** The last time that a server told, and when it came. */
  #told: { readonly timeMs: number; readonly at: SteadyMs } | undefined
  #newestMs = 0

  constructor(clock: Pick<Clock, 'now' | 'steady'>) {
    this.#clock = clock
  }

  /** A server has told its time of day (ms since 1970) right now. NaN is ignored. */
  told(timeMs: number): void {
    if (!Number.isNaN(timeMs)) this.#told = { timeMs, at: this.#clock.steady() }
  }

  /** An envelope has arrived, which a server has stamped with this time (ms since 1970). */
  arrived(ownedAtMs: number): void {
    this.#newestMs = Math.max(this.#newestMs, ownedAtMs)
  }

  /**
   * The servers' time of day, ms since 1970: later than the stamp of each envelope that has
   * arrived. The machine's time before a server has told its own.
   */
  now(): number {
    const { timeMs, at } = this.#told ?? { timeMs: this.#clock.now(), at: this.#clock.steady() }
    return Math.max(Math.round(timeMs + this.#clock.steady() - at), this.#newestMs + 1)
  }
}
