/**
 * The broker: MQTT 5.0 and 3.1.1 semantics over byte duplexes. It knows no socket, token, database
 * or LoRaWAN; they come in through its ports: policy, engine, consumers and observer. This file
 * puts the parts together, and starts and closes them.
 */
import { randomUUID } from 'node:crypto'
import { systemClock } from '../clock.ts'
import type { Clock } from '../clock.ts'
import { silentLogger } from '../logger.ts'
import type { Logger } from '../logger.ts'
import type { Nodes } from '../nodes.ts'
import type { Topic } from '../mqtt/topic.ts'
import type { OrganizationUsage } from '../organization-bounds.ts'
import type { ConnectionView } from './connections/connection-view.ts'
import { Connections } from './connections/connections.ts'
import { MemoryBudget } from './memory/memory-budget.ts'
import type { MemoryBudgetOptions } from './memory/memory-budget.ts'
import { TenantMemories } from './memory/tenant-memory.ts'
import { memoryOf } from './memory/memory-of-tenant.ts'
import { RetainedCleaning } from './delivery/retained-cleaning.ts'
import { Delivery } from './delivery/delivery.ts'
import { LogShares } from './delivery/log-shares.ts'
import type { LogShareUsage } from './delivery/log-shares.ts'
import { RetainedMessages } from './delivery/retained-messages.ts'
import { SharedRetained } from './delivery/shared-retained.ts'
import { Router } from './delivery/router.ts'
import { SessionView } from './delivery/session-view.ts'
import { StateWrites } from './delivery/state-writes.ts'
import { SessionStore } from './durable/session-store.ts'
import { handlePacket } from './packets/handle-packet.ts'
import type { HandlerParts } from './packets/handler-parts.ts'
import type {
  Dispatched,
  DispatchWatcher,
  Dispatcher,
  LogFollower,
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
import type { Engine } from './ports/engine.ts'
import { DEFAULT_LIMITS } from './ports/limits.ts'
import type { Limits, TenantLimitsOf } from './ports/limits.ts'
import type { Peer, Policy } from './ports/policy.ts'
import type { RetainedSnapshot } from './ports/retained-snapshot.ts'
import type { Transport } from './ports/transport.ts'
import { Publishing } from './publishing/publishing.ts'
import { recover } from './recovery.ts'
import { loadCheckpoint } from './restoring/checkpoint.ts'
import { GroupHomes } from './sharing/group-homes.ts'
import type { SharedGroup } from './sessions/shared-group.ts'
import { SessionMoves } from './restoring/session-moves.ts'
import type { RecentRefusals } from './refusals/recent-refusals.ts'
import { Refusals } from './refusals/refusals.ts'
import type { RefusalCounts } from './refusals/refusals.ts'
import { Deadlines } from './sessions/deadlines.ts'
import { Sessions } from './sessions/sessions.ts'
import { SubscriptionIndex } from './sessions/subscription-index.ts'
import { WillMessages } from './sessions/will-messages.ts'

export interface BrokerOptions {
  readonly policy: Policy
  readonly engine: Engine
  readonly consumers?: readonly PublishConsumer[]
  readonly transformer?: PublishTransformer
  readonly observer?: PublishObserver
  readonly follower?: LogFollower
  readonly limits?: Partial<Limits>
  /** The bounds of one tenant. Absent: `limits` has the bounds of each tenant. */
  readonly tenantLimits?: TenantLimitsOf
  readonly clock?: Clock
  readonly log?: Logger
  /** Told when messages can be dispatched to a Session. */
  readonly readerListener?: ReaderListener
  /**
   * True for the Topic Names whose QoS 0 messages are kept in the log as well: readers that are
   * behind get them, and they can be read later.
   */
  readonly keepsQoS0?: (topic: Topic) => boolean
  /**
   * The tenant that the messages of a Topic Name belong to, where it is at hand: its bounds count
   * them while they are retained, whoever publishes them. Undefined, or absent: the tenant of the
   * publisher.
   */
  readonly tenantOf?: (topicName: string) => string | undefined
  /**
   * True when nobody can receive a message of the Topic Name any more: its retained message is
   * removed. Absent: none is.
   */
  readonly isOver?: (topicName: string) => boolean | Promise<boolean>
  /** The memory that the process may hold, and the memory that it holds. Absent: no budget. */
  readonly memory?: Pick<MemoryBudgetOptions, 'maximumBytes' | 'residentBytes' | 'giveBack'>
  /**
   * The User Property that tells MQTT 5 readers the id of each message of the log. Absent: they are
   * not told.
   */
  readonly idProperty?: string
  /**
   * The User Property of CONNACK and AUTH that tells MQTT 5 clients when their permit ends by
   * itself (RFC 3339). Absent: they are not told.
   */
  readonly expiryProperty?: string
  /** The nodes of the deployment. Undefined: this process is the only one. */
  readonly nodes?: Nodes | undefined
  /** Keeps the retained messages of the deployment. Undefined: this process is the only one. */
  readonly retainedSnapshot?: RetainedSnapshot | undefined
  /** A fresh text of at least 128 random bits, for Client Identifiers that we assign. */
  readonly randomId?: () => string
}

export class Broker implements Publisher, Dispatcher {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters = createCounters()
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  readonly engine: Engine
  readonly #refusals: Refusals
  readonly #deadlines: Deadlines
  readonly #sessions: Sessions
  readonly #wills: WillMessages
  readonly #moves: SessionMoves | undefined
  readonly #groups: GroupHomes | undefined
  readonly #publishing: Publishing
  readonly #router: Router
  readonly #shares: LogShares
  readonly #connections: Connections
  readonly #memories: TenantMemories
  readonly #budget: MemoryBudget | undefined
  readonly #cleaning: RetainedCleaning
  readonly #sharedRetained: SharedRetained | undefined
  #closed: Promise<void> | undefined = undefined

  constructor(options: BrokerOptions) {
    const { policy, engine, consumers = [], transformer, observer, readerListener, idProperty } = options
    const { keepsQoS0 = () => false, randomId = randomUUID, nodes, follower } = options
    const { counters } = this
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const clock = options.clock ?? systemClock
    const log = options.log ?? silentLogger
    const { tenantLimits = () => limits } = options
    const shared = { limits, tenantLimits, clock, log, counters }
    const index = new SubscriptionIndex(engine.partitions, policy.reach)
    const refusals = new Refusals(shared)
    const deadlines = new Deadlines(clock.steady())
    const shares = new LogShares({ clock, log, counters, maximumBytes: limits.maximumBytesTowardLog })
    const way = new StateWrites(engine, shares)
    const tails = (): readonly number[] => delivery.tails
    const store = engine.isDurable ? new SessionStore({ engine, way, log, clock, tails }) : undefined
    const groupChanged = (group: SharedGroup): void => groups?.changed(group)
    const delivery = new Delivery({ ...shared, engine, index, store, idProperty, readerListener, groupChanged })
    const memories = new TenantMemories((tenant) => tenantLimits(tenant).maximumOutgoingBytesPerTenant)
    const retained = new RetainedMessages(limits, { tenantOfTopic: options.tenantOf, tenantLimits, memories })
    const { retainedSnapshot: snapshot, isOver } = options
    const sharedRetained = nodes && snapshot && new SharedRetained({ snapshot, nodes, retained, engine, clock, log })
    const toRouter = { index, delivery, retained, engine, observer, follower, keepsQoS0, clock, shares, nodes }
    const router = new Router({ ...toRouter, shared: sharedRetained })
    const cleaning = new RetainedCleaning({ retained, engine, clock, log, isOver, shared: sharedRetained })
    const toPublish = { consumers, transformer, retained, cleaning, router, store, refusals, policy }
    const publishing = new Publishing({ ...shared, ...toPublish })
    const wills = new WillMessages(deadlines, (session, due) => void publishing.publishWill(session, due))
    const ended = (key: string): void => moves?.released(key)
    const groupMade = (group: SharedGroup): void => groups?.made(group)
    const listeners = { ended, groupMade, groupChanged }
    const sessions = new Sessions({ ...shared, index, delivery, deadlines, wills, memories, store, ...listeners })
    const ofNodes = nodes && store && { nodes, engine, sessions, delivery, store, clock, log }
    // The groups of a dead node come before its Sessions.
    const groups = ofNodes && new GroupHomes({ ...ofNodes, tenantLimits })
    const moves = ofNodes && groups && new SessionMoves({ ...ofNodes, wills, groups })
    const served = { ...shared, refusals, publishing, delivery, sessions, wills }
    const connections = new Connections({
      ...served,
      engine,
      deadlines,
      handle: (connection, packet) => handlePacket(parts, connection, packet),
    })
    const { expiryProperty, memory } = options
    const own = { policy, engine, connections, retained, store, moves, groups, randomId, expiryProperty }
    const parts: HandlerParts = { ...served, ...own }
    policy.watchAccess?.((lost) => sessions.endAll(lost))
    const holders = (): ReturnType<Broker['holders']> => this.holders()
    this.#memories = memories
    this.#budget = memory && new MemoryBudget({ ...memory, memories, log, holders })
    this.#cleaning = cleaning
    this.#sharedRetained = sharedRetained
    this.limits = limits
    this.clock = clock
    this.log = log
    this.delivery = delivery
    this.retained = retained
    this.store = store
    this.engine = engine
    this.#refusals = refusals
    this.#deadlines = deadlines
    this.#sessions = sessions
    this.#wills = wills
    this.#moves = moves
    this.#groups = groups
    this.#publishing = publishing
    this.#router = router
    this.#shares = shares
    this.#connections = connections
  }

  /** Opens the engine and restores the state that it kept. Call before the first `accept`. */
  async start(): Promise<void> {
    const { delivery, retained, clock, log, store } = this
    const engine = this.engine
    await engine.open(delivery.readers, this.#router)
    delivery.start()
    if (store === undefined) return
    this.#cleaning.lookAtAll()
    const sessions = this.#sessions
    const own = (await this.#moves?.ownSource()) ?? { source: engine, orphans: [] }
    await this.#groups?.restore(own.source, await loadCheckpoint(engine))
    await this.#groups?.prepareFor(own.source)
    const { orphans, completed } = await recover({
      engine,
      source: own.source,
      sessions,
      delivery,
      retained,
      shared: this.#sharedRetained,
      wills: this.#wills,
      clock,
      log,
    })
    this.#groups?.goOn()
    store.discard([...own.orphans, ...orphans], completed)
    // Everything that is saved from now on counts from these tails.
    void store.checkpoint()
  }

  /**
   * Takes over a fresh duplex of bytes. Closes it at once when the broker has its maximum of
   * connections.
   */
  accept(transport: Transport, peer: Peer): void {
    this.#connections.accept(transport, peer)
  }

  /** Runs everything that is due. The owner calls it about once a second. */
  tick(): void {
    this.#connections.tick()
    this.#publishing.tick()
    this.#memories.tick()
    this.#budget?.tick()
    void this.#cleaning.tick()
    this.#moves?.tick()
    this.#groups?.tick()
    this.#sharedRetained?.tick()
    this.#deadlines.advance(this.clock.steady())
    void this.store?.checkpoint()
  }

  /** Publishes a message of the service's own: no permit is asked. */
  publish(message: OwnMessage): Promise<void> {
    return this.#publishing.publish(message)
  }

  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.#publishing.dispatch(message, watcher, isFor)
  }

  /** The bytes of memory that the tenant holds, about. */
  memoryOf(tenant: string): number {
    const held = { ...this.#sessions.usageOf(tenant), ...this.retained.usageOf(tenant) }
    return memoryOf(held, this.#memories.find(tenant)?.bytes ?? 0)
  }

  /** The tenants that hold memory, with the bytes that each holds, about. */
  *holders(): Generator<readonly [tenant: string, bytes: number]> {
    for (const tenant of new Set(this.tenants())) yield [tenant, this.memoryOf(tenant)]
  }

  /**
   * Removes the retained messages whose Topic Names begin with the prefix, up to the end of a
   * level: their topics are over.
   */
  removeRetainedUnder(topicPrefix: string): void {
    this.#cleaning.removeUnder(topicPrefix)
  }

  /**
   * Removes the retained messages below the prefix for which `isMeant` is true, and soon those that
   * were on their way. Their topics go on.
   */
  removeRetainedOf(topicPrefix: string, isMeant: (topicName: string) => boolean): void {
    this.#cleaning.removeMeant(topicPrefix, isMeant)
  }

  /**
   * Accepts no CONNECT from now on (0x88), and ends all connections with 0x8B, evenly over the time
   * (ms). Resolves when no connection is left, or a second after the last was told, and other nodes
   * have taken the Sessions of the last clients, or have had 2 s for that. The broker goes on with
   * everything else until `close`.
   */
  async drain(durationMs: number): Promise<void> {
    await this.#connections.drain(durationMs, ({ key }) => this.#moves?.sentAway.add(key))
    await this.#moves?.sentAway.allTaken()
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
    this.#connections.close()
    this.#router.flush()
    await this.store?.close()
    await this.#sharedRetained?.close()
    await this.engine.close()
  }

  /** Live connections past CONNACK, in the order in which they came: of one tenant, or all. */
  connections(tenant?: string): Generator<ConnectionView> {
    return this.#connections.views(tenant)
  }

  /** The live connection of this number. */
  connection(number: number): ConnectionView | undefined {
    return this.#connections.view(number)
  }

  /**
   * An administrator ends the connection of this number, MQTT 5 by 0x98; false when there is none.
   */
  endConnection(number: number): boolean {
    return this.#connections.end(number)
  }

  /** The Sessions, connected and away: of one tenant, or all. */
  *sessions(tenant?: string): Generator<SessionView> {
    const { engine, clock } = this
    const parts = { engine, clock, tails: this.delivery.tails }
    for (const session of this.#sessions.all()) {
      if (tenant === undefined || session.tenant === tenant) yield new SessionView(session, parts)
    }
  }

  /**
   * A listener has refused a client before it could send CONNECT: counts it, and keeps it for
   * people who ask why.
   */
  refusedBeforeConnect(code: string, reason: string, address: string): void {
    const nobody = { clientId: undefined, holder: undefined, topic: undefined }
    this.#refusals.connectRefused({ kind: 'connect', code, reason, address, ...nobody })
  }

  /** The bytes that the tenant has on their way to the log at present. */
  logUsage(tenant: string): LogShareUsage {
    return this.#shares.usage(tenant)
  }

  /** The use that the tenant makes of those of its bounds that the broker keeps. */
  usageOf(tenant: string): OrganizationUsage {
    return {
      ...this.#connections.usageOf(tenant),
      ...this.#sessions.usageOf(tenant),
      ...this.retained.usageOf(tenant),
      ...this.#memories.usageOf(tenant),
    }
  }

  /** The tenants that use anything; one may come twice. Each connection has a Session. */
  *tenants(): Generator<string> {
    yield* this.#sessions.tenants()
    yield* this.retained.tenants()
  }

  get isClosing(): boolean {
    return this.#connections.isClosing
  }

  /** Clients are sent away, and none is accepted. */
  get isDraining(): boolean {
    return this.#connections.isDraining
  }

  /** How often something was refused, by `kind:code`. */
  get refusals(): RefusalCounts {
    return this.#refusals.counts
  }

  /** The newest refusals, for people who ask why. */
  get recentRefusals(): RecentRefusals {
    return this.#refusals.recent
  }
}
