/** A look that is taken at an interval: one at a time, and none after the end. */
import { later } from './clock.ts'
import type { Clock, SteadyMs } from './clock.ts'

export interface PeriodicLookOptions {
  /** Takes the look. */
  readonly look: () => Promise<void>
  readonly intervalMs: number
  readonly clock: Pick<Clock, 'steady'>
  /** Is told of a look that failed; the next one comes in its time. */
  readonly failed: (error: unknown) => void
}

export class PeriodicLook {
  readonly #options: PeriodicLookOptions
  #next: SteadyMs
  #looking: Promise<void> | undefined = undefined
  #isClosed = false

  constructor(options: PeriodicLookOptions) {
    this.#options = options
    this.#next = options.clock.steady()
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** To be called once a second. The first call looks. */
  tick(): void {
    const now = this.#options.clock.steady()
    if (this.#isClosed || this.#looking !== undefined || now < this.#next) return
    this.#next = later(now, this.#options.intervalMs)
    void this.look()
  }

  /** Looks now, or shares the look under way. Never rejects. */
  look(): Promise<void> {
    const { look, failed } = this.#options
    this.#looking ??= look()
      .catch(failed)
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }

  /** Ends the looks, after one that is under way. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#looking
  }
}
