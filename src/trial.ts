/**
 * Tries a measure on the running load: counts first without it, then with it, and once more without
 * it, for a load that has just begun is not the same a moment later. Keeps the measure for some
 * time where the figures with it are better. Then it counts again without it, because loads change.
 */
import assert from 'node:assert'
import type { Clock, SteadyMs } from './clock.ts'

export interface TrialOptions<Figures> {
  readonly clock: Pick<Clock, 'steady'>
  /** The load is counted for this long each time, ms. */
  readonly countedMs: number
  /**
   * The decision holds for this long, ms. A measure that is rejected again and again is tried after
   * twice and then four times as long: each trial costs a stream that it does not help.
   */
  readonly decidedMs: number
  /**
   * The first decision to keep the measure holds for this long, ms. Short where a load that changes
   * in the middle of the counts could make the measure look better by chance. Absent: `decidedMs`.
   */
  readonly firstKeptMs?: number
  /** The figures of the last `elapsedMs` ms, since the call before. */
  count(elapsedMs: number): Figures
  /** True when the load of these figures, counted without the measure, is worth a trial. */
  isWorth(without: Figures): boolean
  /** `without`: the figures before and after those with the measure. */
  isBetter(withIt: Figures, without: readonly [Figures, Figures]): boolean
}

/** The longest rejection, as a multiple of `decidedMs`. */
const LONGEST_REJECTION = 4

export class Trial<Figures> {
  readonly #options: TrialOptions<Figures>
  #phase: 'counting' | 'trying' | 'comparing' | 'kept' | 'rejected' = 'counting'
  #since: SteadyMs
  #without: Figures | undefined
  #withIt: Figures | undefined
  /** True: the measure was kept, and was better when it was asked again. */
  #isConfirmed = false
  /** A rejection holds for so many times `decidedMs`. */
  #rejection = 1

  constructor(options: TrialOptions<Figures>) {
    this.#options = options
    this.#since = options.clock.steady()
  }

  /** True while the measure is to be taken. Call it often: the phases end within calls. */
  step(): boolean {
    const now = this.#options.clock.steady()
    const elapsedMs = now - this.#since
    if (elapsedMs >= this.#phaseMs()) {
      this.#since = now
      this.#end(this.#options.count(elapsedMs))
    }
    return this.#phase === 'trying' || this.#phase === 'kept'
  }

  /** True from the first try of the measure until it is decided. */
  get isUnderWay(): boolean {
    return this.#phase === 'trying' || this.#phase === 'comparing'
  }

  #phaseMs(): number {
    const { countedMs, decidedMs, firstKeptMs = decidedMs } = this.#options
    if (this.#phase === 'kept') return this.#isConfirmed ? decidedMs : firstKeptMs
    return this.#phase === 'rejected' ? this.#rejection * decidedMs : countedMs
  }

  /** Ends the phase that has these figures. */
  #end(figures: Figures): void {
    switch (this.#phase) {
      case 'counting':
        if (!this.#options.isWorth(figures)) {
          this.#rejection = 1
          return
        }
        this.#without = figures
        this.#phase = 'trying'
        return
      case 'trying':
      case 'kept':
        this.#isConfirmed = this.#phase === 'kept'
        this.#withIt = figures
        this.#phase = 'comparing'
        return
      case 'comparing':
        this.#phase = this.#isKept(figures) ? 'kept' : 'rejected'
        if (this.#phase === 'kept') this.#rejection = 1
        this.#without = figures
        return
      case 'rejected':
        this.#rejection = Math.min(2 * this.#rejection, LONGEST_REJECTION)
        this.#phase = 'counting'
    }
  }

  #isKept(after: Figures): boolean {
    assert(this.#without !== undefined && this.#withIt !== undefined)
    return this.#options.isWorth(after) && this.#options.isBetter(this.#withIt, [this.#without, after])
  }
}
