/**
 * Keeps the newest events, bounded in number and in characters, so that a page can stay open for
 * days.
 */
import type { LiveEvent } from './live-event.ts'

/**
 * The most that a ring holds. `characters` are those of the payloads, because the payloads use the
 * memory.
 */
export interface RingBounds {
  readonly events: number
  readonly characters: number
}

export class EventRing {
  readonly #bounds: RingBounds
  #events: LiveEvent[] = []
  /**
   * Events before this index are dropped. When they are half of the array, they are cut off in one
   * step.
   */
  #start = 0
  #characters = 0

  constructor(bounds: RingBounds) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#events.length - this.#start
  }

  /** Adds the newest event. Where a bound is passed, the oldest events are dropped. */
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

  /** All events, the oldest first. */
  all(): readonly LiveEvent[] {
    return this.#events.slice(this.#start)
  }

  clear(): void {
    this.#events = []
    this.#start = 0
    this.#characters = 0
  }
}
