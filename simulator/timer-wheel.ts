/**
 * A wheel of slots in place of a timer for each device: adding, moving and removing cost the same
 * at any number of devices.
 */

/** The duration of a slot. An item runs at the end of its slot, so up to this much late. */
export const TICK_MS = 10

/**
 * A turn of the wheel takes 82 s; an item that is due later stays in its slot for several turns.
 */
const SLOTS = 8192

/** Items by the time at which they are due; each is in the wheel at most once. */
export class TimerWheel<Item> {
  readonly #slots: (Map<Item, number> | undefined)[] = Array.from({ length: SLOTS })
  readonly #ticks = new Map<Item, number>()
  /** All items up to this tick have been taken. */
  #doneTick: number

  constructor(nowMs: number) {
    this.#doneTick = Math.floor(nowMs / TICK_MS) - 1
  }

  get size(): number {
    return this.#ticks.size
  }

  /** Adds or moves an item. An item with a time in the past is due at the next tick. */
  set(item: Item, dueAtMs: number): void {
    const dueTick = Math.ceil(dueAtMs / TICK_MS)
    const tick = Math.max(dueTick, this.#doneTick + 1)
    if (this.#ticks.get(item) === tick) return
    this.delete(item)
    const slot = (this.#slots[tick % SLOTS] ??= new Map())
    slot.set(item, tick)
    this.#ticks.set(item, tick)
  }

  delete(item: Item): void {
    const tick = this.#ticks.get(item)
    if (tick === undefined) return
    this.#slots[tick % SLOTS]?.delete(item)
    this.#ticks.delete(item)
  }

  clear(): void {
    this.#slots.fill(undefined)
    this.#ticks.clear()
  }

  /**
   * Takes the due items out, tick by tick, and gives each to `visit`, which may add the item again;
   * a time that is not in the future means the next tick. Stops after the tick in which `maximum`
   * items are reached; the rest stays due.
   */
  takeDue(nowMs: number, maximum: number, visit: (item: Item) => void): void {
    const nowTick = Math.floor(nowMs / TICK_MS)
    let taken = 0
    // After a long sleep, one turn visits every slot; an item found there is due, however late.
    const first = Math.max(this.#doneTick + 1, nowTick - SLOTS + 1)
    for (let tick = first; tick <= nowTick && taken < maximum; tick += 1) {
      const slot = this.#slots[tick % SLOTS]
      this.#doneTick = tick
      if (slot === undefined || slot.size === 0) continue
      const due = [...slot].filter(([, dueTick]) => dueTick <= tick)
      for (const [item] of due) this.delete(item)
      for (const [item] of due) visit(item)
      taken += due.length
    }
  }

  /**
   * The time at which `takeDue` may find an item next, in milliseconds since 1970; undefined: the
   * wheel is empty.
   */
  nextMs(): number | undefined {
    if (this.#ticks.size === 0) return undefined
    for (let ahead = 1; ahead <= SLOTS; ahead += 1) {
      const tick = this.#doneTick + ahead
      if ((this.#slots[tick % SLOTS]?.size ?? 0) > 0) return tick * TICK_MS
    }
    return (this.#doneTick + SLOTS) * TICK_MS
  }
}
