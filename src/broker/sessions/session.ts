/**
 * A Session: the state that the broker keeps for a client between and during its connections, with
 * the rules that always hold for it.
 */
import type { QoS } from '../../mqtt/packet.ts'
import type { DispatchWatcher } from '../ports/consumer.ts'
import { matches } from '../../mqtt/topic-filter.ts'
import type { SteadyMs } from '../../clock.ts'
import { SmallMap } from '../../small-map.ts'
import type { Deadline } from './deadlines.ts'
import type { Cursor } from './log-places.ts'
import type { StateChange } from '../ports/engine.ts'
import type { Branches } from '../ports/policy.ts'
import { isWithin, wasWithin } from './own-branches.ts'
import type { TenantMemory } from '../memory/tenant-memory.ts'
import type { Message } from '../ports/message.ts'
import { PacketIdTable } from './packet-id-table.ts'
import type { ReadonlyPacketIdTable } from './packet-id-table.ts'
import type { PendingWill } from './pending-will.ts'
import type { Outlet, Reader, ReaderChanges } from './reader.ts'
import type { ReceiveWindow } from './receive-window.ts'
import type { SessionLink } from './session-link.ts'
import type { SharedGroup } from './shared-group.ts'

export interface Subscription {
  /** The Topic Filter as the client sent it, `$share/{ShareName}/` included. */
  readonly topicFilter: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  /** A list of one Subscription Identifier; undefined where the client gave none [MQTT-3.3.4-3]. */
  readonly subscriptionIdentifiers: readonly [number] | undefined
  /** The group of a shared subscription; undefined for a subscription of the Session's own. */
  readonly group: SharedGroup | undefined
  /**
   * By partition: the offset at which the subscription begins, where its Session may read the log
   * from an earlier one. The Session was behind when it subscribed, or may be after a restart.
   */
  since: Map<number, number> | undefined
  /**
   * The branches within which the Topic Filter matches. Absent: it matches as it reads.
   */
  readonly branches?: Branches | undefined
  /**
   * The id or time from which the client asked for older messages; undefined when it did not ask.
   */
  readonly replayFrom: string | undefined
  /**
   * False: QoS 0, live only. True: QoS 1 or 2, a replay, or a QoS 0 subscription that replaced one
   * with messages still queued.
   */
  readonly readsLog: boolean
}

/** A message that a reader is owed, by its place in the log. */
export interface Owed {
  /** Undefined after a restart, until the message has been read from the log again. */
  message: Message | undefined
  /**
   * The partition of the log; -1 for a message that is not in the log, and then `message` is set.
   */
  readonly partition: number
  readonly offset: number
  /** True when the message was to be read again, and retention had taken it. */
  isLost?: boolean
}

/** A QoS 1 or 2 message that was sent to the client and is not acknowledged to the end. */
export interface Inflight extends Owed {
  readonly packetId: number
  readonly qos: 1 | 2
  readonly retain: boolean
  readonly subscriptionIdentifiers: readonly number[] | undefined
  /** The shared subscription that chose this Session for the message. */
  readonly group: SharedGroup | undefined
  /** `publish` until PUBACK or PUBREC; `pubrel` until PUBCOMP. */
  awaiting: 'publish' | 'pubrel'
  /**
   * False while the engine does not know the Packet Identifier yet: until then the message must not
   * be sent.
   */
  isStored: boolean
  /** A number that grows with each message that the Session is sent, over restarts too. */
  readonly order: number
  /** Bytes that count while the message is in flight; 0 after a restart. */
  readonly bytes: number
  /** The watcher of a message that was dispatched, and that is not in the log. */
  readonly watcher: DispatchWatcher | undefined
}

/** A QoS 2 message that the client has published and not released yet. */
export interface ReceivedPublish {
  readonly packetId: number
  /** False until the engine owns the message: only then PUBREC is sent. */
  isOwned: boolean
  /** The `connectionEpoch` of the connection that the PUBLISH came on last. */
  connectionEpoch: number
}

/** The past of a reader of the log, as it needs it after a restart of the broker. */
export interface Recovery {
  /**
   * Places behind the saved cursors whose messages are in flight or were brought to their end: they
   * are not sent once more.
   */
  readonly handled: ReadonlySet<string>
  /** By partition: messages before this offset may have been sent already, so they carry DUP. */
  readonly sentBefore: ReadonlyMap<number, number>
}

/** The key of a place in the log. */
export function placeKey(partition: number, offset: number): string {
  return `${partition}:${offset}`
}

/** A retained message that a new subscription is still owed. */
export interface WaitingRetained {
  readonly message: Message
  readonly subscription: Subscription
}

/** Bytes of the record of a Session beside its messages. */
const OF_SESSION_BYTES = 512
/** Bytes of the record of a subscription beside its key, with those that its way takes. */
const OF_SUBSCRIPTION_BYTES = 640
/** Bytes for an offset at which a subscription begins. */
const OF_PLACE_BYTES = 8
/** Bytes of a message in the record of its Session. */
const OF_MESSAGE_BYTES = 64

/** Shared, because an array of its own would take 64 bytes of each Session. */
const NONE: readonly never[] = []
/** The tables of Sessions that have none of their own. Nobody adds to them. */
const NOTHING_IN_FLIGHT = new PacketIdTable<Inflight>()
const NOTHING_RECEIVED = new PacketIdTable<ReceivedPublish>()
/** Nobody adds to it: `takeResend` and the setter alone touch the list. */
const NOTHING_TO_RESEND: Inflight[] = []

export class Session implements Reader, Deadline {
  readonly key: string
  readonly tenant: string
  readonly identity: string
  readonly clientId: string
  connection: SessionLink | undefined = undefined
  /** Seconds for which the Session outlives its connection. The limits have cut Infinity before. */
  expirySeconds = 0
  /** By Topic Filter. */
  readonly subscriptions = new SmallMap<string, Subscription>()
  readonly groups = new Set<SharedGroup>()
  /** Bytes of the messages in flight. */
  inflightBytes = 0
  /** The window of the last connection that has ended: some of its messages may be under way. */
  lastWindow: ReceiveWindow | undefined = undefined
  /** Grows by one with each connection of the Session: it tells one of them from another. */
  connectionEpoch = 0
  /**
   * The partitions in which the Session is behind the tail, and up to where it has read. Empty: it
   * gets each message as it is committed.
   */
  readonly behind = new Map<number, Cursor>()
  catchingUp = false
  /** The Will Message that waits for its delay. */
  pendingWill: PendingWill | undefined = undefined
  /** Its deadline is the end of a Session without a connection. */
  dueSecond = -1
  readonly #expired: (session: Session) => void
  /** When the Session's last connection ended; undefined while it has one. */
  restingSince: SteadyMs | undefined = undefined
  /** True when the Session has changed since it was last saved. */
  isUnsaved = false
  /** True while the engine's state has a record of the Session. */
  isSaved = false
  /**
   * The Topic Filters whose subscriptions were made, changed or removed since they were saved;
   * undefined: none were.
   */
  unsavedSubscriptions: Set<string> | undefined = undefined
  /** True once the Session is over: it is not saved any more. */
  hasEnded = false
  /** The Session's past after a restart; undefined once it has caught up. */
  recovery: Recovery | undefined = undefined
  /**
   * True when a dispatcher was told that the Session has no room: it is to be told when there is
   * some.
   */
  isAwaited = false
  /** The account that counts the bytes of the Session. */
  readonly memory: TenantMemory
  #inflight = NOTHING_IN_FLIGHT
  #received = NOTHING_RECEIVED
  #resend: Inflight[] = NOTHING_TO_RESEND
  #retained: readonly WaitingRetained[] = NONE
  #lastOrder = 0
  #lastPacketId = 0
  #oldPacketIds: readonly number[] = NONE
  #oldPosition = 0
  #merged: Map<string, readonly Subscription[]> | undefined = undefined

  constructor(
    key: string,
    memory: TenantMemory,
    identity: string,
    clientId: string,
    expired: (session: Session) => void,
  ) {
    this.key = key
    this.memory = memory
    this.tenant = memory.tenant
    this.identity = identity
    this.clientId = clientId
    this.#expired = expired
  }

  /** The Session has outlived its connection for as long as it may. */
  due(): void {
    this.#expired(this)
  }

  /** A number above all numbers that the Session gave before, in this process or an earlier one. */
  nextOrder(nowMs: number): number {
    this.#lastOrder = Math.max(this.#lastOrder + 1, nowMs * 1000)
    return this.#lastOrder
  }

  /** After a restart: the Session has given this number, even if the clock was set back since. */
  restoreOrder(order: number): void {
    this.#lastOrder = Math.max(this.#lastOrder, order)
  }

  get lastPacketId(): number {
    return this.#lastPacketId
  }

  /**
   * Goes on counting Packet Identifiers after a restart, far from those that the client may have
   * seen since `last` was saved: a late acknowledgement of one of them must not end another
   * message.
   */
  restorePacketIds(last: number): void {
    this.#beginRound()
    this.#lastPacketId = (last + 16_384) % 65_535
    while ((this.#oldPacketIds[this.#oldPosition] ?? Infinity) <= this.#lastPacketId) this.#oldPosition += 1
  }

  /**
   * A Packet Identifier not in use [MQTT-2.2.1-4]; there is one, since fewer than 65,535 messages
   * are in flight.
   */
  nextPacketId(): number {
    for (;;) {
      if (this.#lastPacketId === 65_535) this.#beginRound()
      this.#lastPacketId += 1
      if (this.#lastPacketId !== this.#oldPacketIds[this.#oldPosition]) return this.#lastPacketId
      this.#oldPosition += 1
      if (!this.inflight.has(this.#lastPacketId)) return this.#lastPacketId
    }
  }

  /**
   * A round has 65,535 identifiers. Only those that were in flight when it began can be in use:
   * they alone are looked up.
   */
  #beginRound(): void {
    this.#lastPacketId = 0
    this.#oldPacketIds = this.#inflight
      .values()
      .map(({ packetId }) => packetId)
      .toSorted((a, b) => a - b)
    this.#oldPosition = 0
  }

  /** Messages that were sent and not acknowledged. */
  get inflight(): ReadonlyPacketIdTable<Inflight> {
    return this.#inflight
  }

  /** The messages in flight, in the order in which they were sent first [MQTT-4.6.0-1]. */
  inflightInOrder(): Inflight[] {
    return this.#inflight.values().toSorted((a, b) => a.order - b.order)
  }

  /** QoS 2 messages not yet released by the client, by Packet Identifier [MQTT-4.3.3-10]. */
  get received(): ReadonlyPacketIdTable<ReceivedPublish> {
    return this.#received
  }

  /** The client has published a QoS 2 message. */
  receive(message: ReceivedPublish): void {
    if (this.#received === NOTHING_RECEIVED) this.#received = new PacketIdTable()
    this.#received.set(message)
  }

  /** The client has released a QoS 2 message. */
  release(packetId: number): void {
    this.#received.delete(packetId)
  }

  /** A message is in flight from here on. */
  send(entry: Inflight): void {
    if (this.#inflight === NOTHING_IN_FLIGHT) this.#inflight = new PacketIdTable()
    this.#inflight.set(entry)
    this.inflightBytes += entry.bytes
    this.memory.inflightBytes += entry.bytes
  }

  /** The message is no longer in flight. */
  takeBack(entry: Inflight): void {
    if (!this.#inflight.delete(entry.packetId)) return
    this.inflightBytes -= entry.bytes
    this.memory.inflightBytes -= entry.bytes
    entry.group?.elsewhere?.left(entry)
  }

  /** The client has brought a message to its end: its Packet Identifier is free. */
  settle(entry: Inflight): void {
    this.takeBack(entry)
    // Some clients answer a message of an earlier connection before it is sent again.
    if (this.resend.length > 0) this.resend = this.resend.filter(({ packetId }) => packetId !== entry.packetId)
  }

  /**
   * Messages that were in flight when the last connection ended, and are still to be sent again on
   * this one, in order [MQTT-4.4.0-1].
   */
  get resend(): readonly Inflight[] {
    return this.#resend
  }

  /** Takes over the list. */
  set resend(resend: Inflight[]) {
    this.#resend = resend.length === 0 ? NOTHING_TO_RESEND : resend
  }

  /** Takes the first message that is to be sent again out of the list. */
  takeResend(): Inflight | undefined {
    const entry = this.#resend.shift()
    if (this.#resend.length === 0) this.#resend = NOTHING_TO_RESEND
    return entry
  }

  /** Retained messages that wait for room in the window; they are sent before anything newer. */
  get retained(): readonly WaitingRetained[] {
    return this.#retained
  }

  set retained(retained: readonly WaitingRetained[]) {
    this.memory.waitingRetained += retained.length - this.#retained.length
    this.#retained = retained
  }

  /** The retained messages that still wait for this subscription are no longer owed. */
  forgetRetained(topicFilter: string): void {
    if (this.retained.length > 0)
      this.retained = this.retained.filter(({ subscription }) => subscription.topicFilter !== topicFilter)
  }

  /**
   * The number of messages in flight that count against the client's Receive Maximum on this
   * connection.
   */
  get unacknowledged(): number {
    return this.inflight.size - this.resend.length
  }

  /**
   * The Session's own (not shared) subscriptions that match a Topic Name. The answers are cached
   * until the subscriptions change.
   */
  matching(topicName: string): readonly Subscription[] {
    this.#merged ??= new Map()
    let found = this.#merged.get(topicName)
    if (found === undefined) {
      const subscriptions: Subscription[] = []
      let isLasting = true
      for (const subscription of this.subscriptions.values()) {
        const { group, topicFilter, branches } = subscription
        if (group !== undefined || !matches(topicFilter, topicName)) continue
        // Branches come and go, and nobody tells the Session.
        if (branches !== undefined) isLasting = false
        if (isWithin(branches, topicName)) subscriptions.push(subscription)
      }
      found = subscriptions
      // A Session that is behind reads few Topic Names. One that reads many pays for the matching.
      if (isLasting && this.#merged.size < 1024) this.#merged.set(topicName, found)
    }
    return found
  }

  /** The Session has lost its connection: it gives up memory that only a connection needs. */
  rest(): void {
    this.#merged = undefined
    if (this.#inflight.size === 0) this.#inflight = NOTHING_IN_FLIGHT
    if (this.#received.size === 0) this.#received = NOTHING_RECEIVED
  }

  // The members of `Reader`.

  get isBounded(): boolean {
    return true
  }

  get isSavedLast(): boolean {
    return false
  }

  get isKept(): boolean {
    return this.expirySeconds > 0
  }

  get owed(): readonly Owed[] {
    return this.resend
  }

  sendOlder(outlet: Outlet): boolean {
    return outlet.sendOlder(this)
  }

  takesMore(outlet: Outlet): boolean {
    return outlet.hasRoom(this)
  }

  matches(topicName: string): boolean {
    return this.matching(topicName).length > 0
  }

  queues(topicName: string): boolean {
    return this.matching(topicName).some(({ qos }) => qos > 0)
  }

  take(outlet: Outlet, message: Message, partition: number, offset: number, dup: boolean): boolean {
    let subscriptions = this.matching(message.topicName)
    if (subscriptions.some(({ since }) => since !== undefined)) {
      subscriptions = subscriptions.filter(({ since }) => offset >= (since?.get(partition) ?? 0))
    }
    if (subscriptions.some(({ branches }) => branches !== undefined)) {
      subscriptions = subscriptions.filter(({ branches }) => wasWithin(branches, message))
    }
    return subscriptions.length === 0 || outlet.send(this, subscriptions, message, dup)
  }

  forgetLost(): number {
    const lost = this.resend.filter(({ isLost }) => isLost === true)
    for (const entry of lost) this.settle(entry)
    return lost.length
  }

  missed(outlet: Outlet, atMost: number): void {
    outlet.missed(this, atMost)
  }

  get recordBytes(): number {
    let bytes = OF_SESSION_BYTES + this.inflight.size * OF_MESSAGE_BYTES
    for (const topicFilter of (this.isSaved ? this.unsavedSubscriptions : this.subscriptions)?.keys() ?? []) {
      const places = this.subscriptions.get(topicFilter)?.since?.size ?? 0
      bytes += OF_SUBSCRIPTION_BYTES + this.key.length + topicFilter.length + places * OF_PLACE_BYTES
    }
    return bytes
  }

  changes(changes: ReaderChanges): readonly StateChange[] {
    return this.hasEnded ? [] : changes.ofSession(this)
  }

  /** Call after each change of a subscription: when it is made, replaced or removed. */
  subscriptionChanged(topicFilter: string): void {
    this.#merged = undefined
    // The first record takes all subscriptions along.
    if (this.isSaved) (this.unsavedSubscriptions ??= new Set()).add(topicFilter)
  }
}
