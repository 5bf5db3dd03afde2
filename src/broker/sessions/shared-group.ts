/** The members of one shared subscription: each message goes to one of them (MQTT 5.0 §4.8.2). */
import { matches } from '../../mqtt/topic-filter.ts'
import type { StateChange } from '../ports/engine.ts'
import type { Message } from '../ports/message.ts'
import type { Cursor } from './log-places.ts'
import type { Outlet, Reader, ReaderChanges } from './reader.ts'
import type { Owed, Recovery, Session, Subscription } from './session.ts'

/** Bytes of a record beside its messages, and of a message in it; both with room to spare. */
const OF_GROUP_BYTES = 512
const OF_MESSAGE_BYTES = 32

export class SharedGroup implements Reader {
  readonly key: string
  readonly tenant: string
  readonly topicFilter: string
  readonly members = new Map<Session, Subscription>()
  /**
   * The partitions in which the group is behind the tail: no member had room, or none was
   * connected.
   */
  readonly behind = new Map<number, Cursor>()
  /**
   * Messages taken back from members that went away; they are sent before the messages of the log.
   * The members' windows bound them.
   */
  readonly returned: Owed[] = []
  catchingUp = false
  /** True when the group has changed since it was last saved. */
  isUnsaved = false
  /** The group's past after a restart; undefined once it has caught up. */
  recovery: Recovery | undefined = undefined
  #order: Session[] = []
  #next = 0

  constructor(key: string, topicFilter: string) {
    this.key = key
    this.tenant = key.slice(0, key.indexOf('\0'))
    this.topicFilter = topicFilter
  }

  /** The key of a group. Groups of different tenants never meet, even with the same ShareName. */
  static key(tenant: string, shareName: string, topicFilter: string): string {
    return `${tenant}\0${shareName}\0${topicFilter}`
  }

  join(session: Session, subscription: Subscription): void {
    if (!this.members.has(session)) this.#order.push(session)
    this.members.set(session, subscription)
  }

  leave(session: Session): void {
    this.members.delete(session)
    this.#order = this.#order.filter((member) => member !== session)
  }

  /** Whether messages of the Topic Name are for the group. */
  matches(topicName: string): boolean {
    return matches(this.topicFilter, topicName)
  }

  get hasConnectedMember(): boolean {
    return this.#order.some((session) => session.connection !== undefined)
  }

  /** The next member in turn that fits; undefined when no member does. */
  choose(fits: (session: Session, subscription: Subscription) => boolean): Session | undefined {
    const order = this.#order
    for (let step = 0; step < order.length; step += 1) {
      const index = (this.#next + step) % order.length
      const session = order[index] as Session
      if (fits(session, this.members.get(session) as Subscription)) {
        this.#next = (index + 1) % order.length
        return session
      }
    }
    return undefined
  }

  // The members of `Reader`.

  get isBounded(): boolean {
    return false
  }

  get recordBytes(): number {
    return OF_GROUP_BYTES + this.returned.length * OF_MESSAGE_BYTES
  }

  get isSavedLast(): boolean {
    return true
  }

  get isKept(): boolean {
    return true
  }

  get owed(): readonly Owed[] {
    return this.returned
  }

  /** Offers the messages that members gave back to the other members. */
  sendOlder(outlet: Outlet): boolean {
    const { returned } = this
    for (let owed = returned[0]; owed !== undefined; owed = returned[0]) {
      // For another member the message is new.
      if (!outlet.offer(this, owed.message as Message, false)) return false
      returned.shift()
      outlet.changed(this)
    }
    return true
  }

  takesMore(): boolean {
    return this.hasConnectedMember
  }

  queues(topicName: string): boolean {
    return this.matches(topicName)
  }

  take(outlet: Outlet, message: Message, _partition: number, _offset: number, dup: boolean): boolean {
    // Other Topic Names share the partition.
    return !this.matches(message.topicName) || outlet.offer(this, message, dup)
  }

  forgetLost(): number {
    const { returned } = this
    const left = returned.filter(({ isLost }) => isLost !== true)
    return returned.splice(0, returned.length, ...left).length - left.length
  }

  /** A group has nobody to be told. */
  missed(): void {}

  changes(changes: ReaderChanges): readonly StateChange[] {
    return [changes.ofGroup(this)]
  }
}
