/**
 * Joins stored and live events without a gap and without a double, at the start and after each
 * reconnection.
 */
import type { LiveEvent } from './live-event.ts'

/**
 * The most live events that wait for the stored ones. The oldest are dropped, because the stored
 * events contain them.
 */
const MAXIMUM_WAITING = 5_000

/**
 * Holds live events back until the stored events have arrived. The subscription stands before the
 * stored events are asked for, so an event that is in neither was published before both.
 */
export class Seam {
  #waiting: LiveEvent[] | undefined = []

  /** From this call on, live events wait. */
  open(): void {
    this.#waiting ??= []
  }

  /** Answers a live event that can be shown now, and keeps an event that has to wait. */
  live(event: LiveEvent): LiveEvent | undefined {
    if (this.#waiting === undefined) return event
    this.#waiting.push(event)
    if (this.#waiting.length > MAXIMUM_WAITING) this.#waiting.shift()
    return undefined
  }

  /**
   * The events to show behind the ones that are shown: the stored ones, the oldest first, then the
   * ones that waited.
   */
  close(stored: readonly LiveEvent[], shown: readonly LiveEvent[]): LiveEvent[] {
    const known = new Set(shown.map(({ id }) => id))
    const next: LiveEvent[] = []
    for (const event of [...stored, ...(this.#waiting ?? [])]) {
      if (event.id !== undefined && known.has(event.id)) continue
      known.add(event.id)
      next.push(event)
    }
    this.#waiting = undefined
    return next
  }
}
