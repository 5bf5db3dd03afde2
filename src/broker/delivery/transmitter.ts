/**
 * Sends messages to one Session, or to one member of a group: who has room, which messages go
 * first, and which are in flight until their reader has acknowledged them.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { Clock } from '../../clock.ts'
import type { DispatchWatcher } from '../ports/consumer.ts'
import type { Counters } from '../ports/counters.ts'
import { hasExpired } from '../ports/message.ts'
import type { Limits } from '../ports/limits.ts'
import type { Message } from '../ports/message.ts'
import { missedNotice } from './missed-notice.ts'
import { Session } from '../sessions/session.ts'
import type { Inflight, Subscription, WaitingRetained } from '../sessions/session.ts'
import type { SessionLink } from '../sessions/session-link.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type { SharedGroup } from '../sessions/shared-group.ts'
import { mergeSubscriptions } from '../sessions/subscription-index.ts'
import type { Target } from '../sessions/subscription-index.ts'
import type { Outlet, Reader } from '../sessions/reader.ts'

/**
 * The QoS and the identifiers that one subscription, or all matching subscriptions together, grant
 * a reader.
 */
type Grant = Pick<Target, 'qos' | 'subscriptionIdentifiers'>

/** Bytes that may be in flight to each client of a tenant that is held back. */
const HELD_BACK_INFLIGHT_BYTES = 65_536

/** The form in which a message is sent to one reader. */
interface Form {
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /** The group of the shared subscription that chose the Session. */
  readonly group: SharedGroup | undefined
  readonly watcher: DispatchWatcher | undefined
}

export interface TransmitterOptions {
  readonly clock: Clock
  readonly limits: Pick<Limits, 'maximumInflightBytes'>
  readonly counters: Counters
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  /** The User Property that tells a message's id; undefined: none does. */
  readonly idProperty: string | undefined
  /** Lets a Session go on that waited for the engine. */
  readonly wake: (session: Session) => void
}

export class Transmitter implements Outlet {
  readonly #clock: Clock
  readonly #counters: Counters
  readonly #maximumInflightBytes: number
  /** Undefined where nothing outlives the process. */
  readonly #store: SessionStore | undefined
  /** The User Property that tells a message's id; undefined: none does. */
  readonly #idProperty: string | undefined

  /** Lets a Session go on that waited for the engine. */
  readonly #wake: (session: Session) => void

  constructor({ clock, limits, counters, store, idProperty, wake }: TransmitterOptions) {
    this.#wake = wake
    this.#clock = clock
    this.#counters = counters
    this.#maximumInflightBytes = limits.maximumInflightBytes
    this.#store = store
    this.#idProperty = idProperty
  }

  /** Room in the window, and nothing older waits for it. */
  hasRoom(session: Session): boolean {
    return session.resend.length === 0 && session.retained.length === 0 && this.#hasWindow(session)
  }

  changed(reader: Reader): void {
    this.#store?.changed(reader)
  }

  missed(session: Session, atMost: number): void {
    const notice = missedNotice(session, atMost, this.#clock.now())
    if (notice === undefined || session.connection === undefined) return
    this.#transmit(session, notice.message, { ...PLAIN, qos: notice.qos })
  }

  sendQoS0(target: Target, message: Message): void {
    const { connection } = target.session
    if (connection === undefined || connection.congested) this.#counters.publishesDropped += 1
    else this.sendTarget(target, message, false)
  }

  sendTarget(target: Target, message: Message, dup: boolean): void {
    const { session } = target
    let merged = target
    if (target.noLocal && message.publisherKey === session.key) {
      const others = session.matching(message.topicName).filter((subscription) => !subscription.noLocal)
      if (others.length === 0) return
      merged = mergeSubscriptions(session, others)
    }
    this.#send(session, message, merged, merged.retainAsPublished && message.retain, dup, undefined)
  }

  send(session: Session, subscriptions: readonly Subscription[], message: Message, dup: boolean): boolean {
    const target = mergeSubscriptions(session, subscriptions)
    // Messages granted at QoS 0 went out when they came, or not at all.
    if (!target.readsLog) return true
    if (!this.hasRoom(session)) return false
    this.sendTarget(target, message, dup)
    return true
  }

  offerQoS0(group: SharedGroup, message: Message): void {
    const chosen = group.chooseAny(
      (session) => session.connection !== undefined && !session.connection.congested && mayReceive(session, message),
      (remote) => remote.hasRoom,
    )
    if (chosen === undefined) this.#counters.publishesDropped += 1
    else if (!(chosen instanceof Session)) chosen.pass(message)
    else this.#sendMember(group, chosen, message, false)
  }

  offer(group: SharedGroup, message: Message, dup: boolean): boolean {
    let refused = false
    let waiting = false
    const fits = (session: Session, subscription: Subscription): boolean => {
      if (session.connection === undefined) return false
      if (!mayReceive(session, message)) {
        refused = true
        return false
      }
      waiting = true
      return subscription.qos === 0 ? !session.connection.congested : this.hasRoom(session)
    }
    const chosen = group.chooseAny(fits, (remote) => {
      waiting = true
      return remote.hasRoom
    })
    // When members are connected and none of them may have the message, it must not hold up the
    // messages behind it.
    if (chosen === undefined) return refused && !waiting
    if (chosen instanceof Session) this.#sendMember(group, chosen, message, dup)
    else {
      chosen.give(message)
      this.changed(group)
    }
    return true
  }

  /**
   * Gives a message to a Session that has room. The message is not in the log; its watcher learns
   * what becomes of it.
   */
  dispatch(session: Session, subscription: Subscription | Target, message: Message, watcher: DispatchWatcher): void {
    const qos = Math.min(message.qos, subscription.qos) as QoS
    const { connection } = session
    const group = 'group' in subscription ? subscription.group : undefined
    this.#transmit(session, message, { ...PLAIN, qos, group, watcher })
    // A QoS 0 message that was sent counts as acknowledged, if it could be sent at all.
    if (qos === 0) queueMicrotask(() => (connection?.isClosed === false ? watcher.acknowledged() : watcher.abandoned()))
  }

  sendOlder(session: Session): boolean {
    return this.#sendAgain(session) && this.drainRetained(session)
  }

  /** Sends retained messages that still wait; true when all are sent. */
  drainRetained(session: Session): boolean {
    const { connection, retained } = session
    if (connection === undefined) return false
    let sent = 0
    while (sent < retained.length && this.#hasWindow(session)) {
      const { message, subscription } = retained[sent] as WaitingRetained
      this.#send(session, message.withoutForms(), subscription, true, false, undefined)
      sent += 1
    }
    if (sent > 0) session.retained = retained.slice(sent)
    return sent === retained.length
  }

  /** Sends the messages again that the last connection left in flight; true when all are sent. */
  #sendAgain(session: Session): boolean {
    const { connection } = session
    if (connection === undefined) return false
    while (session.resend.length > 0) {
      // The engine wakes the Session when it has stored the Packet Identifier.
      // Their bytes are in flight already.
      if (!hasPlace(session) || session.resend[0]?.isStored === false) return false
      const entry = session.takeResend() as Inflight
      const { qos, retain, packetId, subscriptionIdentifiers } = entry
      const message = entry.message as Message
      this.#tellId(connection, message)
      // The message is too large for this connection's Maximum Packet Size, or the permit is
      // narrower than the last one: treated as if it had been sent [MQTT-3.1.2-25].
      const isAllowed = entry.watcher !== undefined || mayReceive(session, message)
      if (!isAllowed || !connection.sendPublish(message, qos, retain, true, packetId, subscriptionIdentifiers))
        this.#cannotSend(session, entry)
    }
    return true
  }

  #sendMember(group: SharedGroup, session: Session, message: Message, dup: boolean): void {
    const subscription = group.members.get(session) as Subscription
    this.#send(session, message, subscription, subscription.retainAsPublished && message.retain, dup, group)
  }

  /**
   * Sends a message on the Session's connection unless the permit forbids it or it has expired. The
   * caller has checked that there is room.
   */
  #send(
    session: Session,
    message: Message,
    grant: Grant,
    retain: boolean,
    dup: boolean,
    group: SharedGroup | undefined,
  ): void {
    const connection = session.connection as SessionLink
    if (!mayReceive(session, message)) return
    if (message.expiresAtMs !== Infinity && hasExpired(message, this.#clock.steady())) {
      this.#counters.publishesExpired += 1
      return
    }
    this.#tellId(connection, message)
    const qos = Math.min(message.qos, grant.qos) as QoS
    const { subscriptionIdentifiers } = grant
    if (qos === 0) connection.sendPublish(message, 0, retain, false, 0, subscriptionIdentifiers)
    else this.#transmit(session, message, { qos, retain, dup, subscriptionIdentifiers, group, watcher: undefined })
  }

  /** A message that was read from the log again after a restart does not tell its id yet. */
  #tellId(connection: SessionLink, message: Message): void {
    if (this.#idProperty !== undefined && connection.protocolVersion === 5) message.tellId(this.#idProperty)
  }

  #transmit(session: Session, message: Message, form: Form): void {
    const connection = session.connection as SessionLink
    const { qos, retain, dup, subscriptionIdentifiers, group, watcher } = form
    if (qos === 0) {
      connection.sendPublish(message, 0, retain, false, 0, subscriptionIdentifiers)
      return
    }
    const packetId = session.nextPacketId()
    const { partition, offset } = message
    const store = this.#store
    const isStoredFirst = qos === 2 && store !== undefined && store.keeps(session) && offset >= 0
    const entry: Inflight = {
      message,
      partition,
      offset,
      packetId,
      qos,
      retain,
      subscriptionIdentifiers,
      group,
      awaiting: 'publish',
      isStored: !isStoredFirst,
      order: session.nextOrder(this.#clock.now()),
      bytes: message.sizeBytes,
      watcher,
    }
    session.send(entry)
    group?.elsewhere?.sent(entry)
    if (isStoredFirst) {
      // The Packet Identifier must be known after a crash, or the message would be sent as another
      // one [MQTT-4.3.3-5].
      store.sending(session, entry, () => {
        entry.isStored = true
        group?.elsewhere?.stored(entry)
        if (session.inflight.get(packetId) !== entry) return
        if (session.connection !== connection) this.#wake(session)
        else if (!connection.sendPublish(message, qos, retain, dup, packetId, subscriptionIdentifiers))
          this.#cannotSend(session, entry)
      })
      return
    }
    if (connection.sendPublish(message, qos, retain, dup, packetId, subscriptionIdentifiers)) {
      // The group's record has the messages of a Session that is not kept.
      store?.changed(group === undefined || session.isKept ? session : group)
    } else this.#cannotSend(session, entry)
  }

  /** Room for one more message that has to be acknowledged, and for its bytes. */
  #hasWindow(session: Session): boolean {
    const maximum = session.memory.isHeldBack ? HELD_BACK_INFLIGHT_BYTES : this.#maximumInflightBytes
    return session.inflightBytes < maximum && hasPlace(session)
  }

  /** Treats the message as if it had been sent and acknowledged [MQTT-3.1.2-25]. */
  #cannotSend(session: Session, entry: Inflight): void {
    session.settle(entry)
    if (entry.watcher !== undefined) queueMicrotask(() => entry.watcher?.abandoned())
    this.#store?.settled(session, entry)
  }
}

const PLAIN: Form = {
  qos: 0,
  retain: false,
  dup: false,
  subscriptionIdentifiers: undefined,
  group: undefined,
  watcher: undefined,
}

/** A place in the window for one more message that has to be acknowledged. */
function hasPlace(session: Session): boolean {
  const { connection } = session
  return connection !== undefined && session.unacknowledged < connection.sendMaximum && !connection.congested
}

/** Asks the permit, where it was granted wider than the messages it may bring. */
export function mayReceive(session: Session, message: Message): boolean {
  return session.connection?.mayReceive?.(message.topic) ?? true
}
