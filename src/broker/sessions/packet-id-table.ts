/**
 * Messages of a Session by their Packet Identifiers.
 *
 * A `Map` is not used, because thousands of messages a second come and go here. In JavaScriptCore a
 * `Map` moves to a new table after some deletions, and its old table refers to the new one. An old
 * table that has outlived a small garbage collection thus holds all later tables, with their
 * messages, until the next full collection.
 */

interface WithPacketId {
  /** 1 to 65,535 [MQTT-2.2.1-3]. */
  readonly packetId: number
}

/** The table for code that only looks. */
export type ReadonlyPacketIdTable<Message extends WithPacketId> = Pick<
  PacketIdTable<Message>,
  'size' | 'get' | 'has' | 'values'
>

const FIRST_SLOTS = 16
/** Nobody writes to it: a table gets slots of its own with its first message. */
const NO_SLOTS: undefined[] = []

/**
 * Each message has the slot of its Packet Identifier, modulo the number of slots. So consecutive
 * messages have slots of their own. A message whose slot is taken, by one that is in flight for
 * longer, goes to a `Map`.
 */
export class PacketIdTable<Message extends WithPacketId> {
  /** A power of 2, and twice as many as there are messages at least. */
  #slots: (Message | undefined)[] = NO_SLOTS
  /** The messages whose slots are taken; undefined where there are none. */
  #others: Map<number, Message> | undefined = undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get(packetId: number): Message | undefined {
    if (this.#size === 0) return undefined
    const message = this.#slots[this.#slotOf(packetId)]
    return message?.packetId === packetId ? message : this.#others?.get(packetId)
  }

  has(packetId: number): boolean {
    return this.get(packetId) !== undefined
  }

  /** Takes the message in, in the place of one that has the same Packet Identifier. */
  set(message: Message): void {
    const { packetId } = message
    this.delete(packetId)
    if (this.#size * 2 >= this.#slots.length) this.#grow()
    this.#size += 1
    this.#place(message)
  }

  /** Returns false where no message has the Packet Identifier. */
  delete(packetId: number): boolean {
    if (this.#size === 0) return false
    const slot = this.#slotOf(packetId)
    if (this.#slots[slot]?.packetId === packetId) this.#slots[slot] = undefined
    else if (this.#others?.delete(packetId) === true) {
      if (this.#others.size === 0) this.#others = undefined
    } else return false
    this.#size -= 1
    return true
  }

  /** All messages, in no certain order. The list stays as it is when messages come and go. */
  values(): Message[] {
    return [...this.#slots.filter((message) => message !== undefined), ...(this.#others?.values() ?? [])]
  }

  #slotOf(packetId: number): number {
    return packetId & (this.#slots.length - 1)
  }

  #place(message: Message): void {
    const slot = this.#slotOf(message.packetId)
    if (this.#slots[slot] === undefined) this.#slots[slot] = message
    else (this.#others ??= new Map()).set(message.packetId, message)
  }

  #grow(): void {
    const messages = this.values()
    this.#slots = Array.from({ length: Math.max(FIRST_SLOTS, this.#slots.length * 2) })
    this.#others = undefined
    for (const message of messages) this.#place(message)
  }
}
