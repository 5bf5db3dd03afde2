/**
 * The messages in flight to one client, in the order of sending, found by Packet Identifier. A
 * `Map` would make a new table after some hundred messages, however few are in flight at a time:
 * the garbage collector copies the tables of a hundred busy Sessions for longer than it may take.
 */
import type { Inflight } from './session.ts'

const SMALLEST_SLOTS = 8
/** An empty window gives a larger table back. */
const KEPT_SLOTS = 512

export class InflightWindow {
  #size = 0
  /**
   * By Packet Identifier: its entry stands at the identifier's low bits, or in the next free slot
   * behind. At most half of the slots are in use. The length is 0 or a power of two.
   */
  #slots: (Inflight | undefined)[] = []
  /** The entries that do not stand in their own slot. Identifiers that follow each other do. */
  #displaced = 0
  /** The ends of the entries' own list. */
  #first: Inflight | undefined = undefined
  #last: Inflight | undefined = undefined

  get size(): number {
    return this.#size
  }

  get(packetId: number): Inflight | undefined {
    return this.#size === 0 ? undefined : this.#slots[this.#slotOf(packetId)]
  }

  has(packetId: number): boolean {
    return this.get(packetId) !== undefined
  }

  /** Adds the entry as the last one, in place of an older one of the same Packet Identifier. */
  add(entry: Inflight): void {
    this.delete(entry.packetId)
    if ((this.#size + 1) * 2 > this.#slots.length) this.#grow()
    this.#place(entry)
    this.#size += 1
    entry.before = this.#last
    entry.after = undefined
    if (this.#last === undefined) this.#first = entry
    else this.#last.after = entry
    this.#last = entry
  }

  /** False: no message of this Packet Identifier was in flight. */
  delete(packetId: number): boolean {
    if (this.#size === 0) return false
    const slot = this.#slotOf(packetId)
    const entry = this.#slots[slot]
    if (entry === undefined) return false
    this.#size -= 1
    this.#unlink(entry)
    this.#vacate(slot)
    if (this.#size === 0 && this.#slots.length > KEPT_SLOTS) this.#slots = []
    return true
  }

  clear(): void {
    for (const entry of this.values()) this.#unlink(entry)
    this.#slots = []
    this.#size = 0
    this.#displaced = 0
  }

  /** In the order of sending. The entry that was given last may be deleted meanwhile. */
  *values(): Generator<Inflight, void> {
    for (let entry = this.#first; entry !== undefined;) {
      const { after } = entry
      yield entry
      entry = after
    }
  }

  /** The slot of the Packet Identifier; if it is not in flight, the free slot for it. */
  #slotOf(packetId: number): number {
    const mask = this.#slots.length - 1
    let slot = packetId & mask
    for (;;) {
      const entry = this.#slots[slot]
      if (entry === undefined || entry.packetId === packetId) return slot
      slot = (slot + 1) & mask
    }
  }

  #place(entry: Inflight): void {
    const slot = this.#slotOf(entry.packetId)
    this.#slots[slot] = entry
    if (!this.#isOwn(slot, entry)) this.#displaced += 1
  }

  #isOwn(slot: number, { packetId }: Inflight): boolean {
    return (packetId & (this.#slots.length - 1)) === slot
  }

  #unlink(entry: Inflight): void {
    const { before, after } = entry
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    // An old entry must not keep the younger ones alive.
    entry.before = undefined
    entry.after = undefined
  }

  /** Frees the slot. Entries behind it that could not stand in their own slot move up. */
  #vacate(free: number): void {
    const slots = this.#slots
    if (!this.#isOwn(free, slots[free] as Inflight)) this.#displaced -= 1
    const mask = slots.length - 1
    let hole = free
    for (let slot = (free + 1) & mask; this.#displaced > 0; slot = (slot + 1) & mask) {
      const entry = slots[slot]
      if (entry === undefined) break
      const own = entry.packetId & mask
      if (((slot - own) & mask) < ((slot - hole) & mask)) continue
      slots[hole] = entry
      if (hole === own) this.#displaced -= 1
      hole = slot
    }
    slots[hole] = undefined
  }

  #grow(): void {
    const length = Math.max(SMALLEST_SLOTS, this.#slots.length * 2)
    this.#slots = Array.from<Inflight | undefined>({ length }).fill(undefined)
    this.#displaced = 0
    for (let entry = this.#first; entry !== undefined; entry = entry.after) this.#place(entry)
  }
}
