/**
 * The newest events, bounded in number and in characters, so that a page can stay open for days.
 */
import type { LiveEvent } from './live-event.ts'

/**
 * What a ring holds at most. Text counts as characters of the payloads, which is what events weigh.
 */
export interface RingBounds {
  readonly events: number
  readonly characters: number
}

export class EventRing {
  readonly #bounds: RingBounds
  #events: LiveEvent[] = []
  /** Events before this index are gone; they are cut off in one go when half of the array is. */
  #start = 0
  #characters = 0

  constructor(bounds: RingBounds) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#events.length - this.#start
  }

  /** Adds the newest event; the oldest go where a bound is passed. */
  push(event: LiveEvent): void {
    this.#events.push(event)
    this.#characters += event.text.length
    while (this.size > this.#bounds.events || (this.#characters > this.#bounds.characters && this.size > 1)) {
      this.#characters -= this.#events[this.#start]?.text.length ?? 0
      this.#start += 1
    }
    if (this.#start > this.#bounds.events) {
      this.#events = this.#events.slice(this.#start)
      this.#start = 0
    }
  }

  /** Oldest first. */
  all(): readonly LiveEvent[] {
    return this.#events.slice(this.#start)
  }

  clear(): void {
    this.#events = []
    this.#start = 0
    this.#characters = 0
  }
}
