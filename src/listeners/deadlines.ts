/** Items that must be done within one duration, each from its own beginning. */
import { later } from '../clock.ts'
import type { Clock, SteadyMs } from '../clock.ts'

/**
 * Items that are cut in one turn of the event loop. Stops pauses: thousands of connections that
 * came together reach their deadline together.
 */
const CUT_PER_TURN = 16

export interface DeadlineOptions<Item> {
  readonly durationMs: number
  /** Items at the same time; beyond it the oldest is cut. */
  readonly maximum: number
  readonly clock: Clock
  /**
   * Ends an item that is removed: its deadline has passed (`late`), or it was the oldest at the
   * maximum (`crowded`).
   */
  readonly cut: (item: Item, reason: 'late' | 'crowded') => void
}

export class Deadlines<Item> {
  readonly #options: DeadlineOptions<Item>
  /** In the order of their deadlines. */
  readonly #endsAt = new Map<Item, SteadyMs>()
  /** Set while a deadline is waited for. */
  #stopWatch: (() => void) | undefined = undefined

  constructor(options: DeadlineOptions<Item>) {
    this.#options = options
  }

  add(item: Item): void {
    const { maximum, clock, durationMs } = this.#options
    if (this.#endsAt.size >= maximum) this.#cutOldest()
    const endsAt = later(clock.steady(), durationMs)
    this.#endsAt.set(item, endsAt)
    if (this.#stopWatch === undefined) this.#watch(endsAt)
  }

  /** The item is done, or is over. Returns false if it is not here. */
  remove(item: Item): boolean {
    const wasHere = this.#endsAt.delete(item)
    if (this.#endsAt.size === 0) {
      this.#stopWatch?.()
      this.#stopWatch = undefined
    }
    return wasHere
  }

  #cutOldest(): void {
    for (const oldest of this.#endsAt.keys()) {
      this.remove(oldest)
      this.#options.cut(oldest, 'crowded')
      return
    }
  }

  /** Waits for the next deadline: one timer for all items. */
  #watch(endsAt: SteadyMs): void {
    const { clock } = this.#options
    this.#stopWatch?.()
    this.#stopWatch = clock.after(Math.max(endsAt - clock.steady(), 0), () => this.#cutLate())
  }

  #cutLate(): void {
    const { clock, cut } = this.#options
    const now = clock.steady()
    let count = 0
    for (const [item, endsAt] of this.#endsAt) {
      if (endsAt > now) {
        this.#watch(endsAt)
        return
      }
      if (count === CUT_PER_TURN) {
        clock.afterTurn(() => this.#cutLate())
        return
      }
      count += 1
      this.remove(item)
      cut(item, 'late')
    }
  }
}
