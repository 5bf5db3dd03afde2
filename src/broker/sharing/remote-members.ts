/** The members of a group at one other node, as the group's home sees them. */
import type { Clock } from '../../clock.ts'
import type { NodeId } from '../../nodes.ts'
import type { Message, Place } from '../ports/message.ts'
import { placeKey } from '../sessions/session.ts'
import type { RemoteMember } from '../sessions/shared-group.ts'

/**
 * Messages of the log that one connected member has at most, and that all members of a node have.
 */
const WINDOW_OF_MEMBER = 64
const WINDOW_OF_NODE = 1_024

export class RemoteMembers implements RemoteMember {
  readonly node: NodeId
  connected = 0
  /** The version that the newest news of the members has. */
  version = -1
  /** True: the node is gone, and it is not known yet which messages its Sessions have stored. */
  isLost = false
  readonly #clock: Clock
  readonly #flush: (places: readonly Place[]) => void
  readonly #pass: (message: Message) => void
  readonly #outstanding = new Map<string, Place>()
  #giving: Place[] = []

  /** `flush` is called after a turn with the messages that were given in it. */
  constructor(
    node: NodeId,
    clock: Clock,
    way: { readonly flush: (places: readonly Place[]) => void; readonly pass: (message: Message) => void },
  ) {
    this.node = node
    this.#clock = clock
    this.#flush = way.flush
    this.#pass = way.pass
  }

  get hasRoom(): boolean {
    return !this.isLost && this.#outstanding.size < Math.min(this.connected * WINDOW_OF_MEMBER, WINDOW_OF_NODE)
  }

  get outstanding(): Iterable<Place> {
    return this.#outstanding.values()
  }

  give({ partition, offset }: Message): void {
    const place = { partition, offset }
    this.#outstanding.set(placeKey(partition, offset), place)
    if (this.#giving.push(place) > 1) return
    this.#clock.afterTurn(() => {
      const given = this.#giving
      this.#giving = []
      this.#flush(given)
    })
  }

  pass(message: Message): void {
    this.#pass(message)
  }

  /** The node holds these messages, as it says itself. */
  holds(places: readonly Place[]): void {
    for (const place of places) this.#outstanding.set(placeKey(place.partition, place.offset), place)
  }

  /** The node does not hold the message any more. False: it did not. */
  over({ partition, offset }: Place): boolean {
    return this.#outstanding.delete(placeKey(partition, offset))
  }

  /** Takes everything back. */
  takeAll(): readonly Place[] {
    const all = [...this.#outstanding.values()]
    this.#outstanding.clear()
    return all
  }
}
