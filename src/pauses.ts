/**
 * Pauses between the pieces of long work in the background, so that it takes at most a part of the
 * time. Messages that wait behind a piece wait for this piece alone.
 */
import type { Clock, SteadyMs } from './clock.ts'

export interface PausesOptions {
  /** The length of a pause, in units of the time that the piece before it took. */
  readonly factor: number
  /** The longest pause, ms. */
  readonly maximumMs: number
}

export class Pauses {
  readonly #clock: Pick<Clock, 'steady' | 'after' | 'afterTurn'>
  readonly #options: PausesOptions
  /** When the present piece began. */
  #beganAt: SteadyMs

  constructor(clock: Pick<Clock, 'steady' | 'after' | 'afterTurn'>, options: PausesOptions) {
    this.#clock = clock
    this.#options = options
    this.#beganAt = clock.steady()
  }

  /** Resolves when the next piece may begin. At least the event loop turns. */
  async pause(): Promise<void> {
    const { factor, maximumMs } = this.#options
    const pauseMs = Math.min(maximumMs, factor * (this.#clock.steady() - this.#beganAt))
    await new Promise<void>((resolve) => {
      if (pauseMs > 0) this.#clock.after(pauseMs, resolve)
      else this.#clock.afterTurn(resolve)
    })
    this.#beganAt = this.#clock.steady()
  }
}
