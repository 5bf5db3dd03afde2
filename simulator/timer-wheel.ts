/**
 * A wheel of slots in the place of a timer for each device: to put in, move and take out costs the
 * same at any number.
 */

/** How long a slot lasts; what is due in it happens at its end, so up to this much late. */
export const TICK_MS = 10

/** A turn of the wheel is 82 s; what is due later stays in its slot for as many turns. */
const SLOTS = 8192

/** Things by the time that they are due; each is in the wheel at most once. */
export class TimerWheel<Item> {
  readonly #slots: (Map<Item, number> | undefined)[] = Array.from({ length: SLOTS })
  readonly #ticks = new Map<Item, number>()
  /** Everything up to this tick has been taken. */
  #doneTick: number

  constructor(nowMs: number) {
    this.#doneTick = Math.floor(nowMs / TICK_MS) - 1
  }

  get size(): number {
    return this.#ticks.size
  }

  /** Puts an item in, or moves it. Times in the past are due with the next tick. */
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
   * Takes out what is due, tick by tick, and gives it to `visit`, which may put it in again: for
   * now or earlier means the next tick. Stops after the tick in which `maximum` items are reached;
   * the rest is due still.
   */
  takeDue(nowMs: number, maximum: number, visit: (item: Item) => void): void {
    const nowTick = Math.floor(nowMs / TICK_MS)
    let taken = 0
    // After a long sleep one turn sees every slot; what it finds is due, however late.
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
   * When `takeDue` may find something next, in milliseconds since 1970; undefined when the wheel is
   * empty.
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
