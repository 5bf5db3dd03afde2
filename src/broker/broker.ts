/**
 * The broker: MQTT 5.0 and 3.1.1 semantics over byte duplexes. It knows no socket, token, database
 * or LoRaWAN; they come in through its ports: policy, engine, consumers and observer.
 */
import { randomUUID } from 'node:crypto'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { BackPressure } from './publishing/back-pressure.ts'
import { systemClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { Connection } from './connections/connection.ts'
import { ConnectionView } from './connections/connection-view.ts'
import type {
  Dispatched,
  DispatchWatcher,
  Dispatcher,
  OwnMessage,
  PublishConsumer,
  PublishObserver,
  PublishTransformer,
  Publisher,
  ReaderFilter,
  ReaderListener,
} from './ports/consumer.ts'
import { createCounters } from './ports/counters.ts'
import type { Counters } from './ports/counters.ts'
import { Deadlines } from './sessions/deadlines.ts'
import { Delivery } from './delivery/delivery.ts'
import type { Engine, EngineFailure } from './ports/engine.ts'
import { DEFAULT_LIMITS } from './ports/limits.ts'
import type { Limits } from './ports/limits.ts'
import { silentLogger } from '../logger.ts'
import { LiveConnections } from './connections/live-connections.ts'
import type { Logger } from '../logger.ts'
import { Message, expiryOf } from './ports/message.ts'
import type { LostAccess, MessageFault, Peer, Permit, Policy } from './ports/policy.ts'
import { RecentRefusals } from './refusals/recent-refusals.ts'
import type { RefusalFields } from './refusals/recent-refusals.ts'
import { recover } from './recovery.ts'
import { RepeatedPublishes } from './refusals/repeated-publishes.ts'
import { RetainedMessages } from './delivery/retained-messages.ts'
import { Router } from './delivery/router.ts'
import type { Session } from './sessions/session.ts'
import { SessionStore } from './durable/session-store.ts'
import { Sessions } from './sessions/sessions.ts'
import { SubscriptionIndex } from './sessions/subscription-index.ts'
import type { Transport } from './ports/transport.ts'
import { WillMessages } from './sessions/will-messages.ts'
import type { DueWill } from './sessions/will-messages.ts'

export interface BrokerOptions {
  readonly policy: Policy
  readonly engine: Engine
  readonly consumers?: readonly PublishConsumer[]
  readonly transformer?: PublishTransformer
  readonly observer?: PublishObserver
  readonly limits?: Partial<Limits>
  readonly clock?: Clock
  readonly log?: Logger
  /** Told when a Session is there to be dispatched to. */
  readonly readerListener?: ReaderListener
  /**
   * Topic Names whose QoS 0 messages are kept in the log as well: readers that are behind get them,
   * and they can be read later.
   */
  readonly keepsQoS0?: (topicName: string) => boolean
  /**
   * The User Property by which MQTT 5 readers are told the id of each message of the log; absent:
   * they are not.
   */
  readonly idProperty?: string
  /** A fresh text of at least 128 random bits, for Client Identifiers that we assign. */
  readonly randomId?: () => string
}

/** What was refused to a connection that has a permit. */
type RefusalOf = Pick<RefusalFields, 'kind' | 'code' | 'reason' | 'topic'>

/**
 * The machine's clock was set, and did not only drift, when it moved so far against the steady one.
 */
const CLOCK_STEP_MS = 1_000

/**
 * Kinds of refusal counted one by one; the codes come from a fixed set, so this is bounded by it.
 */
export type RefusalCounts = ReadonlyMap<string, number>

export class Broker implements Publisher, Dispatcher {
  readonly policy: Policy
  readonly consumers: readonly PublishConsumer[]
  readonly transformer: PublishTransformer | undefined
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters = createCounters()
  /** For people who ask why. */
  readonly recentRefusals = new RecentRefusals()
  readonly repeatedPublishes = new RepeatedPublishes()
  readonly deadlines: Deadlines
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  readonly router: Router
  readonly sessions: Sessions
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  readonly wills: WillMessages
  readonly randomId: () => string
  /** Grows with each tick; bounds per second are counted within one value of it. */
  second = 0
  isClosing = false
  readonly engine: Engine
  readonly #readerListener: ReaderListener | undefined
  readonly #connections = new LiveConnections()
  #opened = 0
  readonly #refusals = new Map<string, number>()
  /** By which the machine's clock is ahead of the steady one. */
  #clockAheadMs: number
  #throttled = new Set<Connection>()
  readonly #waiting = new Set<BackPressure>()
  #closed: Promise<void> | undefined = undefined

  constructor(options: BrokerOptions) {
    this.policy = options.policy
    this.consumers = options.consumers ?? []
    this.transformer = options.transformer
    this.limits = { ...DEFAULT_LIMITS, ...options.limits }
    this.clock = options.clock ?? systemClock
    this.log = options.log ?? silentLogger
    this.randomId = options.randomId ?? randomUUID
    const { engine, observer, readerListener, idProperty, keepsQoS0 = () => false } = options
    this.engine = engine
    this.#readerListener = readerListener
    const index = new SubscriptionIndex(engine.partitions)
    this.#clockAheadMs = this.clock.now() - this.clock.steady()
    this.deadlines = new Deadlines(this.clock.steady())
    this.store = engine.isDurable ? this.#createStore() : undefined
    const ready = (session: Session): void => this.readerReady(session)
    const { clock, limits, counters, store } = this
    this.delivery = new Delivery(engine, index, clock, limits, counters, store, idProperty, ready)
    this.retained = new RetainedMessages(limits)
    this.router = new Router(index, this.delivery, this.retained, engine, observer, keepsQoS0, clock)
    this.wills = new WillMessages(this.deadlines, (session, due) => void this.#publishWill(session, due))
    this.sessions = new Sessions(index, this.delivery, this.deadlines, this.wills, limits, counters, store)
    options.policy.watchAccess?.((lost) => this.#endSessions(lost))
  }

  /** Opens the engine and takes up what it kept. Call before the first `accept`. */
  async start(): Promise<void> {
    await this.engine.open(this.delivery.readers)
    this.delivery.start()
    if (this.store === undefined) return
    const { orphans, completed } = await recover(this)
    this.store.discard(orphans, completed)
    // What is saved from now on counts from these tails.
    void this.store.checkpoint()
  }

  /** Takes over a fresh duplex of bytes; closed at once when the broker has as many as it may. */
  accept(transport: Transport, peer: Peer): void {
    if (this.isClosing || this.#connections.size >= this.limits.maximumConnections) {
      this.counters.connectionsRefused += 1
      transport.destroy()
      return
    }
    this.counters.connectionsOpened += 1
    this.#opened += 1
    this.#connections.add(new Connection(this, transport, peer, this.#opened))
  }

  /** Runs what is due. The owner calls it about once a second. */
  tick(): void {
    this.second += 1
    const throttled = this.#throttled
    this.#throttled = new Set()
    for (const connection of throttled) connection.unthrottle()
    this.#followClock()
    for (const waiting of this.#waiting) waiting.tick()
    this.deadlines.advance(this.clock.steady())
    void this.store?.checkpoint()
  }

  /** A message of the service's own, judged by nobody. */
  publish(message: OwnMessage): Promise<void> {
    const own = this.#ownMessage(message)
    if (own.qos === 0) {
      this.router.pass(own)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const failed = ({ reason }: EngineFailure): void => {
        this.counters.publishesRefused += 1
        reject(new Error(reason))
      }
      this.router.own(own, { owned: () => resolve(), failed })
    })
  }

  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.router.dispatch(this.#ownMessage(message), watcher, isFor)
  }

  /** The Session reads from now on, or has room again. */
  readerReady(session: Session): void {
    session.isAwaited = false
    if (this.#readerListener === undefined || session.connection === undefined) return
    this.#readerListener.readerReady(
      [...session.subscriptions.values()].map(({ group, topicFilter }) => group?.topicFilter ?? topicFilter),
    )
  }

  /**
   * Ends all connections with 0x8B, so that their clients go elsewhere or come back; then closes
   * the engine. A second call waits for the first.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.isClosing = true
    for (const connection of this.#connections.open()) {
      connection.disconnect(ReasonCodes.serverShuttingDown, 'the server is shutting down', 'shutting_down')
    }
    await this.store?.close()
    await this.engine.close()
  }

  /** Live connections past CONNACK, in the order in which they came: of one tenant, or all. */
  *connections(tenant?: string): Generator<ConnectionView> {
    for (const connection of this.#connections.past(tenant)) yield new ConnectionView(connection)
  }

  /** The live connection of this number. */
  connection(number: number): ConnectionView | undefined {
    const connection = this.#connections.find(number)
    return connection && new ConnectionView(connection)
  }

  /**
   * An administrator ends the connection of this number, MQTT 5 by 0x98; false when there is none.
   */
  endConnection(number: number): boolean {
    const connection = this.#connections.find(number)
    connection?.disconnect(
      ReasonCodes.administrativeAction,
      'an administrator has ended the connection',
      'ended_by_administrator',
    )
    return connection !== undefined
  }

  /** How often what was refused and why, by `kind:code`. */
  get refusals(): RefusalCounts {
    return this.#refusals
  }

  isTopicNameWithinLimits(topicName: string): boolean {
    return isWithin(topicName, this.limits.maximumTopicBytes, this.limits.maximumTopicLevels)
  }

  isTopicFilterWithinLimits(topicFilter: string): boolean {
    return isWithin(topicFilter, this.limits.maximumTopicBytes, this.limits.maximumTopicLevels)
  }

  /** True when the tenant and the identity may have one more connection. */
  hasRoomFor(permit: Permit): boolean {
    return (
      this.#connections.countOfTenant(permit.tenant) < this.limits.maximumConnectionsPerTenant &&
      this.#connections.countOfIdentity(permit) < this.limits.maximumConnectionsPerIdentity
    )
  }

  connectionAccepted(connection: Connection): void {
    const { session } = connection
    this.counters.connections += 1
    this.#connections.accepted(connection, session)
    this.log.info(
      {
        clientId: session.clientId,
        tenant: session.tenant,
        peer: connection.peer.address,
        protocolVersion: connection.protocolVersion,
      },
      'connection.accepted',
    )
  }

  /**
   * The connection is over, however; its Session rests or ends, its Will Message is owed unless it
   * was spared.
   */
  connectionEnded(connection: Connection, session: Session | undefined): void {
    this.#connections.remove(connection)
    this.#throttled.delete(connection)
    if (session === undefined || session.connection !== connection) return
    this.counters.connections -= 1
    this.#connections.ended(connection, session)
    session.connection = undefined
    const now = this.clock.steady()
    if (connection.will !== undefined) this.wills.owe(session, connection.will, connection.permit, now)
    this.sessions.rest(session, now)
  }

  /** Takes away subscriptions that the permit does not allow; returns their Topic Filters. */
  dropRefusedSubscriptions(session: Session, permit: Permit): string[] {
    const lost: string[] = []
    for (const { topicFilter, group } of session.subscriptions.values()) {
      if (!permit.maySubscribe(group?.topicFilter ?? topicFilter).allowed) lost.push(topicFilter)
    }
    for (const topicFilter of lost) this.sessions.unsubscribe(session, topicFilter)
    return lost
  }

  /** The connection goes on with the next tick. */
  throttle(connection: Connection): void {
    this.#throttled.add(connection)
  }

  /** Something of a connection waits for the engine, and is told of each tick. */
  waits(backPressure: BackPressure): void {
    this.#waiting.add(backPressure)
  }

  waitsNoMore(backPressure: BackPressure): void {
    this.#waiting.delete(backPressure)
  }

  /** Counts and keeps a refusal, and says so once in the log. */
  refused(connection: Connection, refusal: RefusalOf, fields: object): void {
    const { kind, code } = refusal
    count(this.#refusals, `${kind}:${code}`)
    this.recordRefusal(connection, refusal)
    this.log.warn(
      { clientId: connection.clientId, tenant: connection.permit.tenant, code, ...fields },
      `${kind}.refused`,
    )
  }

  /** Counts and keeps a fault of a message that goes on; in the log it is said while it is news. */
  noticed(connection: Connection, { code, reason, topic, isNews }: MessageFault): void {
    this.counters.publishesFaulty += 1
    this.recordRefusal(connection, { kind: 'notice', code, reason, topic })
    if (!isNews) return
    this.log.warn({ clientId: connection.clientId, tenant: connection.permit.tenant, code, topic }, 'publish.faulty')
  }

  /** Counts and keeps the refusal of a CONNECT. */
  connectRefused(refusal: RefusalFields): void {
    count(this.#refusals, `${refusal.kind}:${refusal.code}`)
    this.recentRefusals.record(refusal, this.clock.now())
  }

  /** Keeps what was refused to a connection. */
  recordRefusal({ clientId, peer, permit }: Connection, refusal: RefusalOf): void {
    this.recentRefusals.record({ ...refusal, clientId, address: peer.address, holder: permit }, this.clock.now())
  }

  /**
   * Durations do not notice that the machine's clock is set; what ends at a time of day is planned
   * again.
   */
  #followClock(): void {
    const aheadMs = this.clock.now() - this.clock.steady()
    const stepMs = aheadMs - this.#clockAheadMs
    if (Math.abs(stepMs) < CLOCK_STEP_MS) return
    this.#clockAheadMs = aheadMs
    this.log.warn({ stepMs }, 'clock.stepped')
    for (const connection of this.#connections.open()) if (connection.isConnected) connection.planExpiry()
  }

  #createStore(): SessionStore {
    return new SessionStore(this.engine, this.log, () => this.delivery.tails, this.clock)
  }

  #ownMessage({ topicName, payload, qos, properties }: OwnMessage): Message {
    const fields = { topicName, payload, qos, retain: false, properties, publisherKey: '' }
    return new Message(fields, expiryOf(properties, this.clock))
  }

  #willRefused(session: Session, topicName: string, ground: string, code: string, reason: string): void {
    const { clientId, tenant, identity } = session
    this.counters.publishesRefused += 1
    count(this.#refusals, `will:${code}`)
    const holder = { tenant, identity, ground }
    // Its connection is over, and with it the address.
    this.recentRefusals.record(
      { kind: 'will', code, reason, clientId, address: '', holder, topic: topicName },
      this.clock.now(),
    )
    this.log.warn({ clientId, tenant, topicName, code }, 'will.refused')
  }

  /**
   * What waits for somebody without access, and what such a one left to be sent, goes with the
   * access.
   */
  #endSessions({ tenant, identity, end }: LostAccess): void {
    for (const session of this.sessions.all()) {
      if (tenant !== undefined && session.tenant !== tenant) continue
      if (identity !== undefined && session.identity !== identity) continue
      const { connection } = session
      if (connection !== undefined) {
        connection.will = undefined
        connection.disconnect(end.reasonCode, end.reason, end.code)
      }
      this.wills.forgive(session)
      this.sessions.end(session)
    }
  }

  /** A Will Message is judged again when it is due: rights may have changed since CONNECT. */
  async #publishWill(session: Session, { will, permit: held, ground, permitExpiresAtMs }: DueWill): Promise<void> {
    const { topicName, payload, qos, retain, properties } = will
    const permit = held ?? (await this.policy.permitOn?.(ground).catch(() => undefined))
    if (permit === undefined || (permitExpiresAtMs !== undefined && permitExpiresAtMs <= this.clock.now())) {
      this.#willRefused(session, topicName, ground, 'token_expired', 'the token has expired')
      return
    }
    try {
      let decision = await permit.mayPublish(topicName)
      const consumer = this.consumers.find((candidate) => candidate.wants(topicName))
      if (decision.allowed && consumer !== undefined)
        decision = await consumer.consume({ topicName, payload, qos, retain, properties, sender: undefined })
      if (!decision.allowed) {
        this.#willRefused(session, topicName, ground, decision.code, decision.reason)
        return
      }
      if (decision.taken === true) return
      const fields = { topicName, payload, qos, retain, properties, publisherKey: session.key }
      this.#completeWill(session, ground, new Message(fields, expiryOf(properties, this.clock)))
    } catch (error) {
      this.log.error({ err: error, clientId: session.clientId, topicName }, 'will.failed')
    }
  }

  /** A Will Message goes through the transformer like a PUBLISH; nothing waits for it meanwhile. */
  #completeWill(session: Session, ground: string, message: Message): void {
    const { transformer } = this
    const { topicName, payload } = message
    if (transformer?.holds(topicName) !== true) {
      this.#routeWill(session, ground, message)
      return
    }
    // Nobody sends it again, and there is no connection with room for more.
    const held = { topicName, payload, room: 0, isShared: true, isGone: false, giveBack: () => false }
    void transformer.transform(held, (completed) => {
      message.payload = completed
      this.#routeWill(session, ground, message)
    })
  }

  #routeWill(session: Session, ground: string, message: Message): void {
    const { topicName, payload, qos, retain } = message
    if (retain && payload.length > 0 && !this.retained.hasRoom(message)) {
      this.#willRefused(session, topicName, ground, 'retained_quota', 'no room for another retained message')
      return
    }
    if (qos === 0) this.router.pass(message)
    else {
      const failed = ({ reason }: EngineFailure): void => {
        this.counters.publishesRefused += 1
        this.log.error({ clientId: session.clientId, topicName, reason }, 'will.failed')
      }
      this.router.own(message, { owned: () => {}, failed })
    }
  }
}

function isWithin(text: string, maximumBytes: number, maximumLevels: number): boolean {
  // A UTF-16 unit is at most three bytes of UTF-8: most texts need not be measured.
  if (text.length * 3 > maximumBytes && Buffer.byteLength(text) > maximumBytes) return false
  if (text.length < maximumLevels) return true
  let levels = 1
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels += 1
  return levels <= maximumLevels
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
