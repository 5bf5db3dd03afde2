/**
 * Joins stored events and live ones without a gap and without a double, at the start and after each
 * reconnection.
 */
import type { LiveEvent } from './live-event.ts'

/**
 * Live events that wait for the stored ones at most; the oldest go, for the stored ones hold them
 * as well.
 */
const MAXIMUM_WAITING = 5_000

/**
 * Until the stored events are here, live ones wait. The subscription stands before the stored ones
 * are asked for, so whatever is in neither came before both.
 */
export class Seam {
  #waiting: LiveEvent[] | undefined = []

  /** From now on live events wait again. */
  open(): void {
    this.#waiting ??= []
  }

  /** A live event: answered when it can be shown now, kept when it has to wait. */
  live(event: LiveEvent): LiveEvent | undefined {
    if (this.#waiting === undefined) return event
    this.#waiting.push(event)
    if (this.#waiting.length > MAXIMUM_WAITING) this.#waiting.shift()
    return undefined
  }

  /**
   * The events to be shown behind those that are, in order: the stored ones, oldest first, then
   * those that waited.
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
