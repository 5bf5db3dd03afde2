/**
 * From the log to the subscribers. A Session is either at the tail of a partition, and gets each message as it is committed,
 * or behind, and reads the log from its cursor; it changes sides only between two messages, so there is no gap.
 */
import type { QoS } from '../mqtt/packet.ts'
import type { Clock } from './clock.ts'
import type { Connection } from './connection.ts'
import type { Counters } from './counters.ts'
import type { Engine, ReadResult } from './engine.ts'
import { Readers } from './log-readers.ts'
import type { Cursor, Written } from './log-readers.ts'
import type { Message } from './message.ts'
import type { Inflight, Session, Subscription, WaitingRetained } from './session.ts'
import type { SharedGroup } from './shared-group.ts'
import type { Limits } from './limits.ts'
import { LastJoin } from './outgoing.ts'
import { shedOldest } from './queue-bound.ts'
import { mergeSubscriptions } from './subscription-index.ts'
import type { Route, SubscriptionIndex, Target } from './subscription-index.ts'

/** Records read by one reader in one turn of the event loop, so that a long way to the tail starves nobody. */
const RECORDS_PER_TURN = 2_048
const RECORDS_PER_READ = 256

/** Who reads the log: a Session for its own subscriptions, or a group for its members. */
type Reader = Session | SharedGroup

export class Delivery {
  readonly readers: Readers
  readonly #engine: Engine
  readonly #index: SubscriptionIndex
  readonly #clock: Clock
  readonly #counters: Counters
  /** The offset after the last message that was routed; what a reader at the tail has seen. */
  readonly #tails: number[]
  /** What was routed in each partition since the start. */
  readonly #written: { messages: number; bytes: number }[]
  readonly #limits: Limits
  #awake = new Set<Reader>()
  /** Shared by all connections of a turn. */
  readonly lastJoin = new LastJoin()
  #flushing: Connection[] = []
  #turnPlanned = false

  constructor(engine: Engine, index: SubscriptionIndex, clock: Clock, limits: Limits, counters: Counters) {
    this.#engine = engine
    this.#index = index
    this.#clock = clock
    this.#limits = limits
    this.#counters = counters
    this.readers = new Readers(engine.partitions)
    this.#tails = Array.from({ length: engine.partitions }, () => 0)
    this.#written = Array.from({ length: engine.partitions }, () => ({ messages: 0, bytes: 0 }))
  }

  /** Call once when the engine is open. */
  start(): void {
    for (let partition = 0; partition < this.#tails.length; partition += 1) {
      this.#tails[partition] = this.#engine.tail(partition)
    }
  }

  /** A QoS 0 message: to whom is there now. */
  passing(route: Route, message: Message): void {
    for (const target of route.targets) this.#sendQoS0(target, message)
    for (const group of route.groups) this.#offerQoS0(group, message)
  }

  /** A committed message, in the order of its partition. */
  committed(route: Route, message: Message, offset: number): void {
    this.#tails[route.partition] = offset + 1
    for (const target of route.targets) {
      const { session } = target
      if (target.qos === 0) this.#sendQoS0(target, message)
      else if (session.behind.size > 0 && session.behind.has(route.partition)) continue
      else if (this.#hasRoom(session)) this.#sendTarget(target, message)
      else this.#fallBehind(session, route.partition, offset)
    }
    for (const group of route.groups) {
      if (group.behind.size > 0 && group.behind.has(route.partition)) continue
      if (group.returned.length > 0 || !this.#offer(group, message)) this.#fallBehind(group, route.partition, offset)
    }
    const written = this.#written[route.partition] as { messages: number; bytes: number }
    written.messages += 1
    written.bytes += message.sizeBytes
  }

  /** The Session has a connection: what was in flight goes again, then what it missed, then what comes. */
  attach(session: Session): void {
    for (const subscription of session.subscriptions.values()) this.#index.touch(routedFilter(subscription))
    session.resend = []
    for (const entry of session.inflight.values()) {
      // PUBREL waits for no window [MQTT-3.3.4-10].
      if (entry.awaiting === 'pubrel') session.connection?.sendAcknowledgement('pubrel', entry.packetId)
      else session.resend.push(entry)
    }
    this.wake(session)
  }

  /** The Session's connection is over; from here on it reads the log when it comes back. */
  detach(session: Session): void {
    session.resend = []
    // Those of QoS 1 and 2 are still owed when the client comes back [MQTT-4.1.0-1].
    session.retained = session.retained.filter(({ message, subscription }) => message.qos > 0 && subscription.qos > 0)
    for (const subscription of session.subscriptions.values()) {
      this.#index.touch(routedFilter(subscription))
      if (subscription.group === undefined) {
        // What it was granted at QoS 0 is not kept for it.
        if (subscription.qos > 0) this.#fallBehindTail(session, subscription.topicFilter)
      } else if (!subscription.group.hasConnectedMember) this.rest(subscription.group)
    }
    for (const entry of session.inflight.values()) {
      if (entry.group?.hasConnectedMember === true) this.#giveBack(session, entry, entry.group)
    }
  }

  /** The Session has ended: its shared messages go to other members, its places in the log are given up. */
  forget(session: Session): void {
    for (const entry of session.inflight.values()) {
      if (entry.group !== undefined && entry.group.members.size > 0) this.#giveBack(session, entry, entry.group)
    }
    session.inflight.clear()
    session.retained = []
    this.#giveUp(session)
  }

  /** The group has no connected member left: it reads the log when one comes back. */
  rest(group: SharedGroup): void {
    this.#fallBehindTail(group, group.topicFilter)
  }

  /** The group has lost its last member. */
  forgetGroup(group: SharedGroup): void {
    group.returned.length = 0
    this.#giveUp(group)
  }

  /** Where a subscription made now begins, in the partitions that its Session is still behind in. */
  beginnings(session: Session, topicFilter: string): ReadonlyMap<number, number> | undefined {
    if (session.behind.size === 0) return undefined
    const beginnings = new Map<number, number>()
    for (const partition of this.#index.partitionsOf(topicFilter)) {
      if (session.behind.has(partition)) beginnings.set(partition, this.#tails[partition] as number)
    }
    return beginnings.size > 0 ? beginnings : undefined
  }

  /** Something has changed that may let the Session, or a group of its, take more. Acted on after the turn. */
  wake(session: Session): void {
    if (session.behind.size > 0 || session.resend.length > 0 || session.retained.length > 0) this.#plan(session)
    for (const group of session.groups) {
      if (group.behind.size > 0 || group.returned.length > 0) this.#plan(group)
    }
  }

  /** The connection has something to flush after the turn. */
  flushLater(connection: Connection): void {
    this.#flushing.push(connection)
    this.#planTurn()
  }

  /** Retained messages for a new subscription: as many as there is room for now, the rest before anything newer. */
  sendRetained(session: Session, messages: readonly Message[], subscription: Subscription): void {
    session.forgetRetained(subscription.topicFilter)
    for (const message of messages) {
      // No Local holds for what the Session itself has had retained, too [MQTT-3.8.3-3].
      if (!subscription.noLocal || message.publisherKey !== session.key)
        session.retained.push({ message, subscription })
    }
    if (session.resend.length === 0) this.#drainRetained(session)
  }

  #plan(reader: Reader): void {
    this.#awake.add(reader)
    this.#planTurn()
  }

  #planTurn(): void {
    if (this.#turnPlanned) return
    this.#turnPlanned = true
    this.#clock.afterTurn(() => this.#turn())
  }

  #turn(): void {
    this.#turnPlanned = false
    if (this.#awake.size > 0) {
      const awake = this.#awake
      this.#awake = new Set()
      for (const reader of awake) this.#catchUp(reader)
    }
    const flushing = this.#flushing
    this.#flushing = []
    for (const connection of flushing) connection.flush()
    this.lastJoin.forget()
  }

  /** Room in the window, and nothing older waits for it. */
  #hasRoom(session: Session): boolean {
    return session.resend.length === 0 && session.retained.length === 0 && hasWindow(session)
  }

  #sendQoS0(target: Target, message: Message): void {
    const { connection } = target.session
    if (connection === undefined || connection.congested) this.#counters.publishesDropped += 1
    else this.#sendTarget(target, message)
  }

  #sendTarget(target: Target, message: Message): void {
    const { session } = target
    let merged = target
    if (target.noLocal && message.publisherKey === session.key) {
      const others = session.matching(message.topicName).filter((subscription) => !subscription.noLocal)
      if (others.length === 0) return
      merged = mergeSubscriptions(session, others)
    }
    const qos = Math.min(message.qos, merged.qos) as QoS
    const retain = merged.retainAsPublished && message.retain
    this.#send(session, message, qos, retain, merged.subscriptionIdentifiers, undefined)
  }

  /** Sends on the Session's connection; the caller has seen that there is room. */
  #send(
    session: Session,
    message: Message,
    qos: QoS,
    retain: boolean,
    subscriptionIdentifiers: readonly number[] | undefined,
    group: SharedGroup | undefined,
  ): void {
    const connection = session.connection as Connection
    if (!mayReceive(session, message)) return
    if (message.expiresAtMs !== Infinity && message.expiresAtMs <= this.#clock.now()) {
      this.#counters.publishesExpired += 1
      return
    }
    if (qos === 0) {
      connection.sendPublish(message, 0, retain, false, 0, subscriptionIdentifiers)
      return
    }
    const packetId = session.nextPacketId()
    if (!connection.sendPublish(message, qos, retain, false, packetId, subscriptionIdentifiers)) return
    session.inflight.set(packetId, {
      packetId,
      message,
      qos,
      retain,
      subscriptionIdentifiers,
      group,
      awaiting: 'publish',
    })
  }

  #offerQoS0(group: SharedGroup, message: Message): void {
    const chosen = group.choose(
      (session) => session.connection !== undefined && !session.connection.congested && mayReceive(session, message),
    )
    if (chosen === undefined) this.#counters.publishesDropped += 1
    else this.#sendMember(group, chosen, message)
  }

  /** To a member with room; false when there is none and the message must wait. */
  #offer(group: SharedGroup, message: Message): boolean {
    let refused = false
    let waiting = false
    const chosen = group.choose((session, subscription) => {
      if (session.connection === undefined) return false
      if (!mayReceive(session, message)) {
        refused = true
        return false
      }
      waiting = true
      return subscription.qos === 0 ? !session.connection.congested : this.#hasRoom(session)
    })
    // When members are there and none may have it, it must not hold up what comes after it.
    if (chosen === undefined) return refused && !waiting
    this.#sendMember(group, chosen, message)
    return true
  }

  #sendMember(group: SharedGroup, session: Session, message: Message): void {
    const subscription = group.members.get(session) as Subscription
    const qos = Math.min(message.qos, subscription.qos) as QoS
    const retain = subscription.retainAsPublished && message.retain
    const { subscriptionIdentifier } = subscription
    this.#send(
      session,
      message,
      qos,
      retain,
      subscriptionIdentifier === undefined ? undefined : [subscriptionIdentifier],
      group,
    )
  }

  /** A QoS 1 message goes to another member; a QoS 2 one stays with its Session [MQTT-4.8.2-4], [MQTT-4.8.2-5]. */
  #giveBack(session: Session, entry: Inflight, group: SharedGroup): void {
    if (entry.qos !== 1) return
    session.inflight.delete(entry.packetId)
    group.returned.push(entry.message)
    this.#plan(group)
  }

  #fallBehind(reader: Reader, partition: number, offset: number): void {
    reader.behind.set(partition, this.readers.add(partition, offset, this.#written[partition] as Written))
  }

  #fallBehindTail(reader: Reader, topicFilter: string): void {
    for (const partition of this.#index.partitionsOf(topicFilter)) {
      if (!reader.behind.has(partition)) this.#fallBehind(reader, partition, this.#tails[partition] as number)
    }
  }

  #giveUp(reader: Reader): void {
    for (const cursor of reader.behind.values()) this.readers.remove(cursor)
    reader.behind.clear()
    this.#awake.delete(reader)
  }

  #catchUp(reader: Reader): void {
    if (reader.catchingUp) return
    if ('members' in reader) {
      while (reader.returned.length > 0) {
        if (!this.#offer(reader, reader.returned[0] as Message)) return
        reader.returned.shift()
      }
    } else if (!this.#sendAgain(reader) || !this.#drainRetained(reader)) return
    if (!('members' in reader) && this.#mayBeBeyondBounds(reader)) {
      this.#shedLater(reader)
      return
    }
    let budget = RECORDS_PER_TURN
    for (const [partition, cursor] of reader.behind) {
      while (this.#canTakeMore(reader)) {
        if (cursor.offset >= (this.#tails[partition] as number)) {
          this.readers.remove(cursor)
          reader.behind.delete(partition)
          break
        }
        if (budget <= 0) {
          this.#plan(reader)
          return
        }
        const result = this.#engine.read(partition, cursor.offset, RECORDS_PER_READ)
        if (result instanceof Promise) {
          this.#catchUpLater(reader, cursor, result)
          return
        }
        budget -= Math.max(1, result.messages.length)
        if (!this.#take(reader, cursor, result)) return
      }
    }
  }

  #catchUpLater(reader: Reader, cursor: Cursor, reading: Promise<ReadResult>): void {
    reader.catchingUp = true
    const done = (): void => {
      reader.catchingUp = false
      if (reader.behind.get(cursor.partition) === cursor) this.#plan(reader)
    }
    reading.then(
      (result) => {
        if (reader.behind.get(cursor.partition) === cursor) this.#take(reader, cursor, result)
        done()
      },
      // The engine reports its own failures; the reader stays where it is and tries again when it is woken.
      () => {
        reader.catchingUp = false
      },
    )
  }

  /** False is certain; true needs a closer look, since not all that was written matches. */
  #mayBeBeyondBounds(session: Session): boolean {
    let messages = 0
    let bytes = 0
    for (const [partition, cursor] of session.behind) {
      const written = this.#written[partition] as Written
      messages += written.messages - cursor.owed.messagesUpTo
      bytes += written.bytes - cursor.owed.bytesUpTo
    }
    return messages > this.#limits.maximumQueuedMessages || bytes > this.#limits.maximumQueuedBytes
  }

  /** Moves the Session past the oldest messages that are beyond its bounds, then goes on. */
  #shedLater(session: Session): void {
    session.catchingUp = true
    shedOldest(session, this.#engine, this.#tails, this.readers, this.#limits).then(
      ({ lost, messages, bytes }) => {
        session.catchingUp = false
        this.#counters.publishesLost += lost
        // Now it is known exactly; the sum over the partitions is what counts.
        let known = { messages, bytes }
        for (const [partition, { owed }] of session.behind) {
          const written = this.#written[partition] as Written
          owed.messagesUpTo = written.messages - known.messages
          owed.bytesUpTo = written.bytes - known.bytes
          known = { messages: 0, bytes: 0 }
        }
        if (session.behind.size > 0) this.#plan(session)
      },
      () => {
        session.catchingUp = false
      },
    )
  }

  /** Delivers what was read as far as there is room; true when all of it went. */
  #take(reader: Reader, cursor: Cursor, result: ReadResult): boolean {
    this.#counters.publishesLost += result.lost
    const tail = this.#tails[cursor.partition] as number
    for (let index = 0; index < result.messages.length; index += 1) {
      const message = result.messages[index] as Message
      const offset = result.offsets[index] as number
      // Not routed yet: the reader is about to be at the tail and gets it there.
      if (offset >= tail) {
        this.readers.advance(cursor, tail)
        return true
      }
      const taken =
        'members' in reader ? this.#offer(reader, message) : this.#takeOne(reader, cursor.partition, offset, message)
      if (!taken) {
        this.readers.advance(cursor, offset)
        return false
      }
      if ('members' in reader || reader.matching(message.topicName).length > 0) {
        cursor.owed.messagesUpTo += 1
        cursor.owed.bytesUpTo += message.sizeBytes
      }
    }
    this.readers.advance(cursor, Math.min(result.next, tail))
    return true
  }

  /** One message of the log for a Session that is behind; false when there is no room for it. */
  #takeOne(session: Session, partition: number, offset: number, message: Message): boolean {
    let subscriptions = session.matching(message.topicName)
    if (subscriptions.length === 0) return true
    if (subscriptions.some(({ since }) => since !== undefined)) {
      subscriptions = subscriptions.filter(({ since }) => offset >= (since?.get(partition) ?? 0))
      if (subscriptions.length === 0) return true
    }
    const target = mergeSubscriptions(session, subscriptions)
    // What is granted at QoS 0 went out, or not, when it came.
    if (target.qos === 0) return true
    if (!this.#hasRoom(session)) return false
    this.#sendTarget(target, message)
    return true
  }

  #canTakeMore(reader: Reader): boolean {
    return 'members' in reader ? reader.hasConnectedMember : this.#hasRoom(reader)
  }

  /** Sends retained messages that still wait; true when all are out. */
  #drainRetained(session: Session): boolean {
    const { connection, retained } = session
    if (connection === undefined) return false
    let sent = 0
    while (sent < retained.length && hasWindow(session)) {
      const { message, subscription } = retained[sent] as WaitingRetained
      const { subscriptionIdentifier } = subscription
      const identifiers = subscriptionIdentifier === undefined ? undefined : [subscriptionIdentifier]
      this.#send(session, message, Math.min(message.qos, subscription.qos) as QoS, true, identifiers, undefined)
      sent += 1
    }
    retained.splice(0, sent)
    return retained.length === 0
  }

  /** Sends again what the last connection left in flight; true when all of it is out. */
  #sendAgain(session: Session): boolean {
    const { connection } = session
    if (connection === undefined) return false
    while (session.resend.length > 0) {
      if (!hasWindow(session)) return false
      const entry = session.resend.shift() as Inflight
      const { message, qos, retain, packetId, subscriptionIdentifiers } = entry
      // Too large for this connection's Maximum Packet Size: as if it had been sent [MQTT-3.1.2-25].
      if (!connection.sendPublish(message, qos, retain, true, packetId, subscriptionIdentifiers))
        session.inflight.delete(packetId)
    }
    return true
  }
}

function hasWindow(session: Session): boolean {
  const { connection } = session
  return connection !== undefined && session.unacknowledged < connection.sendMaximum && !connection.congested
}

function mayReceive(session: Session, message: Message): boolean {
  return session.connection?.permit.mayReceive?.(message.topicName) ?? true
}

/** The filter under which the index holds a subscription. */
function routedFilter(subscription: Subscription): string {
  return subscription.group?.topicFilter ?? subscription.topicFilter
}
