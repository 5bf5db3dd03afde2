/**
 * From the log to the subscribers. A Session is at the tail of a partition, and gets each message
 * as it arrives; or it is behind, and reads the log from its cursor. It changes between the
 * two only between two messages, so there is no gap.
 */
import { CatchUp } from './catch-up.ts'
import type { Clock } from '../../clock.ts'
import type { Dispatched, DispatchWatcher, ReaderFilter, ReaderListener } from '../ports/consumer.ts'
import type { Counters } from '../ports/counters.ts'
import type { Engine } from '../ports/engine.ts'
import type { Limits } from '../ports/limits.ts'
import { LogPlaces } from '../sessions/log-places.ts'
import type { Written } from '../sessions/log-places.ts'
import type { Message } from '../ports/message.ts'
import type { LastJoin } from './last-join.ts'
import { Transmitter, mayReceive } from './transmitter.ts'
import type { Inflight, Session, Subscription } from '../sessions/session.ts'
import type { SessionDelivery } from '../sessions/sessions.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import type { Route, SubscriptionIndex } from '../sessions/subscription-index.ts'
import { TurnShares } from './turn-shares.ts'
import { Turns } from './turns.ts'
import type { Flushable } from './turns.ts'
import type { Reader } from '../sessions/reader.ts'

export interface DeliveryOptions {
  readonly engine: Engine
  readonly index: SubscriptionIndex
  readonly clock: Clock
  readonly limits: Limits
  readonly counters: Counters
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  /** The User Property that tells MQTT 5 readers a message's id; undefined: none does. */
  readonly idProperty: string | undefined
  /** Called when messages can be dispatched to a Session. */
  readonly readerListener: ReaderListener | undefined
  /** Told when other members of a group are connected than before. */
  readonly groupChanged?: ((group: SharedGroup) => void) | undefined
}

export class Delivery implements SessionDelivery {
  readonly readers: LogPlaces
  readonly transmitter: Transmitter
  readonly #engine: Engine
  readonly #readerListener: ReaderListener | undefined
  readonly #index: SubscriptionIndex
  readonly #groupChanged: (group: SharedGroup) => void
  /** The time of the event loop, in slices for each account. */
  readonly turnShares: TurnShares
  readonly #turns: Turns
  readonly #store: SessionStore | undefined
  /**
   * The offset after the last message that was routed. A reader at the tail has seen everything
   * before it.
   */
  readonly #tails: number[]
  /** The messages and bytes routed in each partition since the start. */
  readonly #written: { messages: number; bytes: number }[]

  constructor(options: DeliveryOptions) {
    const { engine, index, clock, limits, counters, store, idProperty, readerListener } = options
    this.#groupChanged = options.groupChanged ?? (() => {})
    this.#readerListener = readerListener
    this.#engine = engine
    this.#index = index
    this.#store = store
    this.readers = new LogPlaces(engine.partitions)
    this.transmitter = new Transmitter({
      clock,
      limits,
      counters,
      store,
      idProperty,
      wake: (session) => this.wake(session),
    })
    this.#tails = Array.from({ length: engine.partitions }, () => 0)
    this.#written = Array.from({ length: engine.partitions }, () => ({ messages: 0, bytes: 0 }))
    this.turnShares = new TurnShares(clock)
    this.#turns = new Turns(clock, this.turnShares, counters, (reader) => catchUp.goOn(reader))
    const catchUp = new CatchUp({
      clock,
      engine,
      readers: this.readers,
      routed: { tails: this.#tails, written: this.#written },
      limits,
      counters,
      turns: this.#turns,
      outlet: this.transmitter,
    })
  }

  /** Call once when the engine is open. */
  start(): void {
    for (let partition = 0; partition < this.#tails.length; partition += 1) {
      this.#tails[partition] = this.#engine.tail(partition)
    }
  }

  /** By partition: the offset after the last message that was routed. */
  get tails(): readonly number[] {
    return this.#tails
  }

  /** The joined buffer that all connections share within a turn. */
  get lastJoin(): LastJoin {
    return this.#turns.lastJoin
  }

  /** Delivers a QoS 0 message that is not kept to the connected subscribers. */
  passing(route: Route, message: Message): void {
    for (const target of route.targets) this.transmitter.sendQoS0(target, message)
    for (const group of route.groups) if (group.elsewhere === undefined) this.transmitter.offerQoS0(group, message)
  }

  /** Delivers a message of the log, in the order of its partition. */
  arrived(route: Route, message: Message): void {
    const { partition, offset } = message
    const { transmitter } = this
    this.#tails[partition] = offset + 1
    for (const target of route.targets) {
      const { session } = target
      if (!target.readsLog) transmitter.sendQoS0(target, message)
      else if (session.behind.size > 0 && session.behind.has(partition)) continue
      else if (transmitter.hasRoom(session)) transmitter.sendTarget(target, message, false)
      else this.#fallBehind(session, partition, offset)
    }
    for (const group of route.groups) {
      if (group.elsewhere !== undefined) continue
      if (group.behind.size > 0 && group.behind.has(partition)) continue
      if (group.returned.length > 0 || !transmitter.offer(group, message, false))
        this.#fallBehind(group, partition, offset)
    }
    const written = this.#written[partition] as { messages: number; bytes: number }
    written.messages += 1
    written.bytes += message.sizeBytes
  }

  /**
   * Gives a message that its caller owns to one connected reader with room. A group's member counts
   * as a reader. A message that a permit does not let through is not offered.
   */
  dispatch(route: Route, message: Message, watcher: DispatchWatcher, isFor: ReaderFilter = () => true): Dispatched {
    let isAnybodyThere = false
    const takes = (session: Session): boolean => {
      if (session.connection === undefined || !isFor(session) || !mayReceive(session, message)) return false
      isAnybodyThere = true
      if (this.transmitter.hasRoom(session)) return true
      session.isAwaited = true
      return false
    }
    const target = route.targets.find(({ session }) => takes(session))
    if (target !== undefined) {
      this.transmitter.dispatch(target.session, target, message, watcher)
      return 'sent'
    }
    for (const group of route.groups) {
      const session = group.choose(takes)
      if (session === undefined) continue
      this.transmitter.dispatch(session, group.members.get(session) as Subscription, message, watcher)
      return 'sent'
    }
    return isAnybodyThere ? 'no room' : 'no reader'
  }

  /**
   * The Session has a connection. Messages in flight are sent again first, then the messages that
   * it missed, then new ones.
   */
  attach(session: Session): void {
    for (const subscription of session.subscriptions.values()) {
      this.#index.touch(session.tenant, routedFilter(subscription))
      if (subscription.group !== undefined) this.#groupChanged(subscription.group)
    }
    const resend: Inflight[] = []
    for (const entry of session.inflightInOrder()) {
      // PUBREL waits for no window [MQTT-3.3.4-10].
      if (entry.awaiting === 'pubrel') session.connection?.sendAcknowledgement('pubrel', entry.packetId)
      else resend.push(entry)
    }
    session.resend = resend
    this.wake(session)
  }

  /**
   * The Session's connection is over. When the Session comes back, it reads the log from here on.
   */
  detach(session: Session): void {
    session.resend = []
    session.rest()
    // Retained messages of QoS 1 and 2 are still owed when the client comes back [MQTT-4.1.0-1].
    session.retained = session.retained.filter(({ message, subscription }) => message.qos > 0 && subscription.qos > 0)
    for (const subscription of session.subscriptions.values()) {
      this.#index.touch(session.tenant, routedFilter(subscription))
      if (subscription.group === undefined) {
        // Messages of subscriptions granted at QoS 0 are not kept for it.
        if (subscription.readsLog) this.#fallBehindTail(session, subscription.topicFilter)
      } else {
        if (!subscription.group.hasConnectedMember) this.rest(subscription.group)
        this.#groupChanged(subscription.group)
      }
    }
    this.giveBack(session, (group) => group.elsewhere !== undefined || group.hasConnectedMember)
  }

  /**
   * Gives the messages that the Session has in flight for groups to other members: QoS 1 only, for
   * a QoS 2 message stays with its Session [MQTT-4.8.2-4], [MQTT-4.8.2-5]. Messages that were
   * dispatched to the Session go back to their owners.
   */
  giveBack(session: Session, canTake: (group: SharedGroup) => boolean): void {
    const gained = new Set<SharedGroup>()
    for (const entry of session.inflightInOrder()) {
      const { qos, group, watcher, message, partition, offset } = entry
      if (qos !== 1 || group === undefined || (watcher === undefined && !canTake(group))) continue
      if (watcher === undefined) group.elsewhere?.giveBack({ message, partition, offset })
      session.takeBack(entry)
      if (watcher !== undefined) watcher.abandoned()
      else {
        group.returned.push({ message, partition, offset })
        gained.add(group)
      }
    }
    for (const group of gained) {
      // The home of the group saves it.
      if (group.elsewhere === undefined) this.#store?.handedBack(session, group)
      this.#turns.wake(group)
    }
  }

  /** The Session has ended: its places in the log are given up. */
  forget(session: Session): void {
    for (const entry of session.inflightInOrder()) {
      entry.watcher?.abandoned()
      session.takeBack(entry)
    }
    session.retained = []
    this.#giveUp(session)
  }

  /** The group has no connected member left: it reads the log when one comes back. */
  rest(group: SharedGroup): void {
    // The home of the group reads the log.
    if (group.elsewhere !== undefined) return
    this.#fallBehindTail(group, group.topicFilter)
  }

  /** The group has lost its last member. */
  forgetGroup(group: SharedGroup): void {
    group.returned.length = 0
    this.#giveUp(group)
  }

  /**
   * The beginning of a subscription that is made now, in the partitions that its Session may read
   * from an earlier offset. These are the partitions in which the Session is behind; all partitions
   * if the Session is kept in the engine, since a restart reads from the cursors that were saved
   * last.
   */
  beginnings(session: Session, topicFilter: string): Map<number, number> | undefined {
    const isKept = this.#store?.keeps(session) === true
    if (session.behind.size === 0 && !isKept) return undefined
    const beginnings = new Map<number, number>()
    for (const partition of this.#index.partitionsOf(topicFilter)) {
      if (isKept || session.behind.has(partition)) beginnings.set(partition, this.#tails[partition] as number)
    }
    return beginnings.size > 0 ? beginnings : undefined
  }

  /** True when messages of the log may still wait for this subscription of the Session. */
  owes(session: Session, subscription: Subscription): boolean {
    if (session.behind.size === 0 || subscription.group !== undefined || !subscription.readsLog) return false
    return this.#index.partitionsOf(subscription.topicFilter).some((partition) => session.behind.has(partition))
  }

  /** The partitions of the log that Topic Names matched by the Topic Filter can be in. */
  partitionsOf(topicFilter: string): readonly number[] {
    return this.#index.partitionsOf(topicFilter)
  }

  /**
   * Lets the Session read the log again for this subscription, from these offsets by partition. Its
   * other subscriptions stay where they are: the messages that they brought do not come again.
   */
  replay(session: Session, subscription: Subscription, from: ReadonlyMap<number, number>): void {
    const beginnings = new Map(subscription.since)
    for (const [partition, offset] of from) {
      const tail = this.#tails[partition] as number
      beginnings.set(partition, Math.min(offset, tail))
      if (offset >= tail) continue
      const cursor = session.behind.get(partition)
      for (const other of session.subscriptions.values()) {
        if (other === subscription || other.group !== undefined) continue
        const here = Math.max(cursor?.offset ?? tail, other.since?.get(partition) ?? 0)
        ;(other.since ??= new Map()).set(partition, here)
        session.subscriptionChanged(other.topicFilter)
      }
      if (cursor === undefined) this.#fallBehind(session, partition, offset)
      else if (offset < cursor.offset) this.readers.move(cursor, offset)
    }
    subscription.since = beginnings
    session.subscriptionChanged(subscription.topicFilter)
    this.wake(session)
  }

  /** After a restart: the reader goes on at the saved cursors, in the partitions that have one. */
  resume(reader: Reader, cursors: ReadonlyMap<number, number>): void {
    for (const [partition, offset] of cursors) {
      const known = reader.behind.get(partition)
      if (known === undefined) this.#fallBehind(reader, partition, offset)
      else this.readers.move(known, offset)
    }
  }

  /**
   * The Session, or a group of it, may take more now. The turns act on it after the current one.
   */
  wake(session: Session): void {
    if (session.isAwaited && this.transmitter.hasRoom(session)) this.readerReady(session)
    if (session.behind.size > 0 || session.resend.length > 0 || session.retained.length > 0) this.#turns.wake(session)
    for (const group of session.groups) {
      if (group.behind.size > 0 || group.returned.length > 0) this.#turns.wake(group)
    }
  }

  /** The group may take more now. */
  wakeGroup(group: SharedGroup): void {
    this.#turns.wake(group)
  }

  /** The Session has begun to read, or has room again: messages can be dispatched to it. */
  readerReady(session: Session): void {
    session.isAwaited = false
    if (this.#readerListener === undefined || session.connection === undefined) return
    this.#readerListener.readerReady([...session.subscriptions.values()].map(routedFilter))
  }

  /** Flushes the connection's output after the turn. */
  flushLater(connection: Flushable): void {
    this.#turns.flushLater(connection)
  }

  /**
   * Sends retained messages to a new subscription: as many as there is room for now, the others
   * before any newer message.
   */
  sendRetained(session: Session, messages: readonly Message[], subscription: Subscription): void {
    session.forgetRetained(subscription.topicFilter)
    // No Local holds for retained messages of the Session itself, too [MQTT-3.8.3-3].
    const owed = messages.filter(({ publisherKey }) => !subscription.noLocal || publisherKey !== session.key)
    session.retained = [...session.retained, ...owed.map((message) => ({ message, subscription }))]
    if (session.resend.length === 0) this.transmitter.drainRetained(session)
  }

  #fallBehind(reader: Reader, partition: number, offset: number): void {
    reader.behind.set(partition, this.readers.add(partition, offset, this.#written[partition] as Written))
    this.#store?.changed(reader)
  }

  #fallBehindTail(reader: Reader, topicFilter: string): void {
    for (const partition of this.#index.partitionsOf(topicFilter)) {
      if (!reader.behind.has(partition)) this.#fallBehind(reader, partition, this.#tails[partition] as number)
    }
  }

  #giveUp(reader: Reader): void {
    for (const cursor of reader.behind.values()) this.readers.remove(cursor)
    reader.behind.clear()
    this.#turns.forget(reader)
  }
}

/** The filter under which the index holds a subscription. */
function routedFilter(subscription: Subscription): string {
  return subscription.group?.topicFilter ?? subscription.topicFilter
}
