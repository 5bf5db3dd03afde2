/**
 * The way of the events of one Topic Filter through the program: which came, which are handled, and
 * up to where everything is handled.
 */
import type { FieldgateEvent } from './event.ts'
import type { Link } from './link.ts'
import { placeOf } from './positions.ts'
import type { Place, Position } from './positions.ts'

/** An acknowledgement that the broker waits for, on one of its connections. */
interface OwedAcknowledgement {
  readonly link: Link
  readonly packetId: number
}

/** An event that came and is not handled yet. */
export interface Entry {
  readonly track: Track | undefined
  readonly id: string | undefined
  /** Undefined for an event of a kind that the program does not want. */
  readonly event: FieldgateEvent | undefined
  /** More than one where the broker has sent the event again meanwhile. */
  readonly owed: OwedAcknowledgement[]
  isHandled: boolean
}

/** Ids of handled events that a position may hold. More can't be in the program at once. */
const MAXIMUM_DONE = 10_000

export class Track {
  readonly applicationId: string
  readonly topicFilter: string
  readonly #since: string
  #after: string | undefined
  #qos0: Position['qos0']
  /** Handled before this process began, behind `#after`. */
  readonly #doneBefore: Set<string>
  /** The last place that came. Events come in the order of their places. */
  #received: Place | undefined
  /** In the order of their places. */
  readonly #outstanding = new Map<string, Entry>()

  constructor(applicationId: string, position: Position) {
    this.applicationId = applicationId
    this.topicFilter = position.topicFilter
    this.#since = position.since
    this.#after = position.after
    this.#qos0 = position.qos0
    this.#doneBefore = new Set(position.done)
    this.#received = position.after === undefined ? undefined : placeOf(position.after)
  }

  /** Where a replay has to begin: nothing behind it is handled, but for `done`. */
  get replayFrom(): string {
    return this.#after ?? this.#since
  }

  get lastHandledId(): string | undefined {
    return this.#after
  }

  /**
   * Whether a kept Session alone may have a gap: the broker does not send events of QoS 0 again,
   * and before the first event the SDK does not know of which QoS they are.
   */
  get needsReplay(): boolean {
    return this.#after === undefined || this.#qos0 !== 'unseen'
  }

  /** The present position, to be stored. */
  get position(): Position {
    const done = [...this.#doneBefore]
    for (const { id, isHandled } of this.#outstanding.values()) if (isHandled && id !== undefined) done.push(id)
    return {
      topicFilter: this.topicFilter,
      since: this.#since,
      after: this.#after,
      done: done.slice(0, MAXIMUM_DONE),
      qos0: this.#qos0,
    }
  }

  /** The number of events that came and are not handled. */
  get size(): number {
    return this.#outstanding.size
  }

  /** Notes the QoS at which the network server publishes. An uplink at QoS 1 shows that it is 1. */
  noteQoS(qos: number, kind: string): void {
    if (qos === 0) this.#qos0 = 'seen'
    else if (kind === 'up' && this.#qos0 === 'unknown') this.#qos0 = 'unseen'
  }

  /**
   * An event has come. `new`: it has to be handled. `handled`: it was handled before. Else its
   * entry: it came before and is not handled yet.
   */
  came(id: string): 'new' | 'handled' | Entry {
    const place = placeOf(id)
    if (place === undefined) return 'new'
    const received = this.#received
    if (received !== undefined && received.part === place.part && place.place <= received.place) {
      return this.#outstanding.get(id) ?? 'handled'
    }
    this.#received = place
    return 'new'
  }

  add(entry: Entry): void {
    if (entry.id === undefined) return
    if (this.#doneBefore.delete(entry.id)) entry.isHandled = true
    this.#outstanding.set(entry.id, entry)
  }

  /** Moves up to the first event that is not handled; true when the position has changed. */
  advance(): boolean {
    const before = this.#after
    for (const [id, { isHandled }] of this.#outstanding) {
      if (!isHandled) break
      this.#outstanding.delete(id)
      this.#after = id
    }
    return this.#after !== before
  }

  /** The service's log has begun anew: ids of the old one mean nothing. */
  forget(): void {
    this.#after = undefined
    this.#received = undefined
    this.#doneBefore.clear()
  }
}
