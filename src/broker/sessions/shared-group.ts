/** The members of one shared subscription: each message goes to one of them (MQTT 5.0 §4.8.2). */
import { matches } from '../../mqtt/topic-filter.ts'
import type { StateChange } from '../ports/engine.ts'
import type { Message, Place } from '../ports/message.ts'
import type { Branches } from '../ports/policy.ts'
import type { Cursor } from './log-places.ts'
import type { Outlet, Reader, ReaderChanges } from './reader.ts'
import { isWithin, wasWithin } from './own-branches.ts'
import { Session } from './session.ts'
import type { Inflight, Owed, Recovery, Subscription } from './session.ts'

/** The members of a group at one other node, as the group's home sees them. */
export interface RemoteMember {
  /** The number of connected members there. */
  readonly connected: number
  readonly hasRoom: boolean
  /** The messages of the log that the members have and have not brought to their end. */
  readonly outstanding: Iterable<Place>
  /** Gives a message of the log to a member there. */
  give(message: Message): void
  /** Gives a QoS 0 message that is not kept. */
  pass(message: Message): void
}

/** The home of a group, as another node with members sees it. */
export interface GroupElsewhere {
  /** A message was given to a member here: it is in flight. */
  sent(entry: Inflight): void
  /** The Session of a member has stored a QoS 2 message: the message stays with the Session. */
  stored(entry: Inflight): void
  /** A message is no longer in flight to a member here. */
  left(entry: Inflight): void
  /** A message was offered to the members here, and does not wait any more. */
  offered(place: Place): void
  /** A member here is gone: another member is to have its message. */
  giveBack(owed: Owed): void
  /** The Session of a member here goes to another node. */
  memberMoves(): void
}

/** Bytes of a record beside its messages, and of a message in it; both with room to spare. */
const OF_GROUP_BYTES = 512
const OF_MESSAGE_BYTES = 32
/** Turns in a round that one other node has at most, whatever number of members it has. */
const MAXIMUM_TURNS = 64

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
  /** The members at other nodes. Only the home of the group knows them. */
  readonly remotes = new Set<RemoteMember>()
  /** Set where another node is the home of the group: that node gives the messages. */
  elsewhere: GroupElsewhere | undefined = undefined
  /**
   * True at the home of a group in a deployment of several nodes: the group always has a record.
   */
  isDistributed = false
  /** True while the group's past is put together: it gives no messages meanwhile. */
  isHeld = false
  /**
   * True at the home of a group while Sessions of members may be on their way from one node to
   * another: the group keeps its place in the log, also without a member.
   */
  awaitsMembers = false
  readonly #branches: Branches | undefined
  #order: (Session | RemoteMember)[] = []
  #next = 0

  /** `branches` are those within which the Topic Filter matches; absent: it matches as it reads. */
  constructor(key: string, topicFilter: string, branches?: Branches) {
    this.#branches = branches
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

  /** The Session of a member goes to another node, and is about to be a member there. */
  memberMoves(): void {
    if (this.elsewhere !== undefined) this.elsewhere.memberMoves()
    else this.awaitsMembers = this.isDistributed
  }

  leave(session: Session): void {
    this.members.delete(session)
    this.#order = this.#order.filter((member) => member !== session)
  }

  /**
   * The QoS 1 messages that members of this node have in flight whose Sessions are not kept: after
   * a crash nobody else has them.
   */
  *heldByUnkept(): Generator<Place> {
    for (const session of this.members.keys()) {
      if (session.isKept) continue
      for (const { group, qos, partition, offset } of session.inflight.values()) {
        if (group === this && qos === 1 && offset >= 0) yield { partition, offset }
      }
    }
  }

  /** Whether messages of the Topic Name are for the group. */
  matches(topicName: string): boolean {
    return matches(this.topicFilter, topicName) && isWithin(this.#branches, topicName)
  }

  /** Counts the members of another node in, as they are now. */
  joinRemote(remote: RemoteMember): void {
    this.leaveRemote(remote)
    this.remotes.add(remote)
    for (let turn = 0; turn < Math.min(remote.connected, MAXIMUM_TURNS); turn += 1) this.#order.push(remote)
  }

  leaveRemote(remote: RemoteMember): void {
    this.remotes.delete(remote)
    this.#order = this.#order.filter((member) => member !== remote)
  }

  /** True while the group has a member, here or at another node. */
  get hasMembers(): boolean {
    return this.members.size > 0 || this.remotes.size > 0
  }

  /** True when the group has members beside this one, here or at another node. */
  hasOthersThan(session: Session): boolean {
    if (this.elsewhere !== undefined || this.remotes.size > 0) return true
    return this.members.size > (this.members.has(session) ? 1 : 0)
  }

  /** The number of members of this node that are connected. */
  get connectedHere(): number {
    let count = 0
    for (const session of this.members.keys()) if (session.connection !== undefined) count += 1
    return count
  }

  get hasConnectedMember(): boolean {
    return this.#order.some((member) =>
      member instanceof Session ? member.connection !== undefined : member.connected > 0,
    )
  }

  /** The next member of this node in turn that fits; undefined when no member does. */
  choose(fits: (session: Session, subscription: Subscription) => boolean): Session | undefined {
    const chosen = this.chooseAny(fits, () => false)
    return chosen instanceof Session ? chosen : undefined
  }

  /** The next member in turn that fits, here or at another node. */
  chooseAny(
    fits: (session: Session, subscription: Subscription) => boolean,
    fitsRemote: (remote: RemoteMember) => boolean,
  ): Session | RemoteMember | undefined {
    const order = this.#order
    for (let step = 0; step < order.length; step += 1) {
      const index = (this.#next + step) % order.length
      const member = order[index] as Session | RemoteMember
      const isFit =
        member instanceof Session ? fits(member, this.members.get(member) as Subscription) : fitsRemote(member)
      if (isFit) {
        this.#next = (index + 1) % order.length
        return member
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

  /** Its home saves a group. */
  get isKept(): boolean {
    return this.elsewhere === undefined
  }

  get owed(): readonly Owed[] {
    return this.returned
  }

  /** Offers the messages that members gave back to the other members. */
  sendOlder(outlet: Outlet): boolean {
    const { returned, elsewhere } = this
    for (let owed = returned[0]; owed !== undefined; owed = returned[0]) {
      // For another member the message is new.
      if (this.isHeld || !outlet.offer(this, owed.message as Message, false)) return false
      returned.shift()
      elsewhere?.offered(owed)
      outlet.changed(this)
    }
    return true
  }

  takesMore(): boolean {
    return this.hasConnectedMember && !this.isHeld
  }

  queues(topicName: string): boolean {
    return this.matches(topicName)
  }

  take(outlet: Outlet, message: Message, _partition: number, _offset: number, dup: boolean): boolean {
    // Other Topic Names share the partition.
    const isFor = this.matches(message.topicName) && wasWithin(this.#branches, message)
    return !isFor || outlet.offer(this, message, dup)
  }

  forgetLost(): number {
    const { returned } = this
    const left = returned.filter(({ isLost }) => isLost !== true)
    for (const owed of returned) if (owed.isLost === true) this.elsewhere?.offered(owed)
    return returned.splice(0, returned.length, ...left).length - left.length
  }

  /** A group has nobody to be told. */
  missed(): void {}

  changes(changes: ReaderChanges): readonly StateChange[] {
    return [changes.ofGroup(this)]
  }
}
