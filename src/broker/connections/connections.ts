/**
 * All Network Connections of the broker, from the transport that a listener hands over to their
 * end.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { IncomingClientPacket } from '../../mqtt/packet-reader.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { LastJoin } from '../delivery/last-join.ts'
import type { Flushable } from '../delivery/turns.ts'
import type { Counters } from '../ports/counters.ts'
import type { Limits, TenantLimitsOf } from '../ports/limits.ts'
import type { Peer, Permit } from '../ports/policy.ts'
import type { Transport } from '../ports/transport.ts'
import type { BackPressure, WaitingLink } from '../publishing/back-pressure.ts'
import type { UnacknowledgedPublishes } from '../publishing/connection-publishes.ts'
import type { PublisherLink } from '../publishing/publisher-link.ts'
import type { Publishing } from '../publishing/publishing.ts'
import type { RefusalFields } from '../refusals/recent-refusals.ts'
import type { Refusals } from '../refusals/refusals.ts'
import type { Deadlines } from '../sessions/deadlines.ts'
import type { Session } from '../sessions/session.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { WillMessages } from '../sessions/will-messages.ts'
import { Accounts } from './accounts.ts'
import type { AccountUsage } from './accounts.ts'
import { Connection } from './connection.ts'
import type { ConnectionHost } from './connection-host.ts'
import { ConnectionView } from './connection-view.ts'
import { drainConnections } from './draining.ts'
import { LiveConnections } from './live-connections.ts'
import { StalledPublishers } from './stalled-publishers.ts'
import type { Engine } from '../ports/engine.ts'

/**
 * From this difference on the machine's clock was set, and did not only drift against the steady
 * clock.
 */
const CLOCK_STEP_MS = 1_000

/** The present use of one tenant's bounds. The rates are averages over the last seconds. */
export interface ConnectionsUsage extends AccountUsage {
  readonly connections: number
}

export interface ConnectionsOptions {
  readonly limits: Limits
  readonly tenantLimits: TenantLimitsOf
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly deadlines: Deadlines
  readonly refusals: Refusals
  readonly publishing: Publishing
  readonly delivery: Delivery
  readonly sessions: Sessions
  readonly wills: WillMessages
  /** Asked whether the log can take messages. */
  readonly engine: Pick<Engine, 'health'>
  /** Handles one packet. A promise: the connection's next packet has to wait for it. */
  readonly handle: (connection: Connection, packet: IncomingClientPacket) => Promise<void> | undefined
}

export class Connections implements ConnectionHost<Connection> {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly deadlines: Deadlines
  readonly handle: ConnectionsOptions['handle']
  readonly accounts: Accounts
  /** Grows by one with each tick; the bounds per second count within one value of it. */
  second = 0
  isClosing = false
  /** No CONNECT is accepted any more. */
  isDraining = false
  readonly #tenantLimits: TenantLimitsOf
  readonly #refusals: Refusals
  readonly #publishing: Publishing
  readonly #delivery: Delivery
  readonly #sessions: Sessions
  readonly #wills: WillMessages
  readonly #engine: Pick<Engine, 'health'>
  readonly #live = new LiveConnections()
  readonly #stalled = new StalledPublishers()
  #opened = 0
  #throttled = new Set<Connection>()
  /** Connections whose packets wait behind one that is being judged. */
  readonly #heldUp = new Set<Connection>()
  /** The time by which the machine's clock is ahead of the steady one. */
  #clockAheadMs: number

  constructor(options: ConnectionsOptions) {
    this.limits = options.limits
    this.clock = options.clock
    this.log = options.log
    this.counters = options.counters
    this.deadlines = options.deadlines
    this.#tenantLimits = options.tenantLimits
    this.#refusals = options.refusals
    this.#publishing = options.publishing
    this.#delivery = options.delivery
    this.#sessions = options.sessions
    this.#wills = options.wills
    this.#engine = options.engine
    this.handle = options.handle
    const { clock, tenantLimits, log, counters } = options
    this.accounts = new Accounts({ clock, tenantLimits, turns: options.delivery.turnShares, log, counters })
    this.#clockAheadMs = this.clock.now() - this.clock.steady()
  }

  /** Takes over a fresh duplex of bytes; closes it at once at the bound of connections. */
  accept(transport: Transport, peer: Peer): void {
    if (this.isClosing || this.#live.size >= this.limits.maximumConnections) {
      this.counters.connectionsRefused += 1
      transport.destroy()
      return
    }
    this.counters.connectionsOpened += 1
    this.#opened += 1
    this.#live.add(new Connection(this, transport, peer, this.#opened))
  }

  /** A second has passed: throttled connections go on. */
  tick(): void {
    this.second += 1
    this.accounts.tick()
    const throttled = this.#throttled
    this.#throttled = new Set()
    for (const connection of throttled) connection.unthrottle()
    for (const connection of this.#heldUp) if (!connection.answerPings()) this.#heldUp.delete(connection)
    this.#stalled.tick(this.#live.past(), this.#engine.health().isStalled === true, this.clock.steady())
    this.#followClock()
  }

  /**
   * Accepts no CONNECT from now on, and ends the connections evenly over the time (ms). Resolves
   * when none is left, or a second after the last was told. Tells `ending` of each Session whose
   * client is about to be sent away.
   */
  drain(durationMs: number, ending: (session: Session) => void): Promise<void> {
    this.isDraining = true
    return drainConnections({
      clock: this.clock,
      connections: [...this.#live.past()],
      durationMs,
      ending: ({ session }) => ending(session),
      left: () => this.counters.connections,
    })
  }

  /** Ends all connections with 0x8B; from now on none is accepted. */
  close(): void {
    this.isClosing = true
    for (const connection of this.#live.open()) {
      connection.disconnect(ReasonCodes.serverShuttingDown, 'the server is shutting down', 'shutting_down')
    }
  }

  /** Live connections past CONNACK, in the order in which they came: of one tenant, or all. */
  *views(tenant?: string): Generator<ConnectionView> {
    for (const connection of this.#live.past(tenant)) yield new ConnectionView(connection)
  }

  /** The live connection of this number. */
  view(number: number): ConnectionView | undefined {
    const connection = this.#live.find(number)
    return connection && new ConnectionView(connection)
  }

  /**
   * An administrator ends the connection of this number, MQTT 5 by 0x98; false when there is none.
   */
  end(number: number): boolean {
    const connection = this.#live.find(number)
    connection?.disconnect(
      ReasonCodes.administrativeAction,
      'an administrator has ended the connection',
      'ended_by_administrator',
    )
    return connection !== undefined
  }

  /** The present use of the tenant's bounds for connections, CONNECTs and PUBLISH packets. */
  usageOf(tenant: string): ConnectionsUsage {
    return { connections: this.#live.countOfTenant(tenant), ...this.accounts.usageOf(tenant) }
  }

  /** True when the tenant and the identity may have one more connection. */
  hasRoomFor(permit: Permit): boolean {
    return (
      this.#live.countOfTenant(permit.tenant) < this.#tenantLimits(permit.tenant).maximumConnectionsPerTenant &&
      this.#live.countOfIdentity(permit) < this.limits.maximumConnectionsPerIdentity
    )
  }

  /** The connection's CONNECT was accepted. */
  accepted(connection: Connection): void {
    const { session } = connection
    this.counters.connections += 1
    this.#live.accepted(connection, session)
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

  // The members of `ConnectionHost`.

  get lastJoin(): LastJoin {
    return this.#delivery.lastJoin
  }

  flushLater(connection: Flushable): void {
    this.#delivery.flushLater(connection)
  }

  wake(session: Session): void {
    this.#delivery.wake(session)
  }

  throttle(connection: Connection): void {
    this.#throttled.add(connection)
  }

  heldUp(connection: Connection): void {
    this.#heldUp.add(connection)
  }

  createBackPressure(link: WaitingLink): BackPressure {
    return this.#publishing.createBackPressure(link)
  }

  createUnacknowledgedPublishes(link: PublisherLink): UnacknowledgedPublishes {
    return this.#publishing.createUnacknowledgedPublishes(link)
  }

  connectRefused(refusal: RefusalFields): void {
    this.#refusals.connectRefused(refusal)
  }

  dropRefusedSubscriptions(session: Session, permit: Permit): readonly string[] {
    return this.#sessions.dropRefusedSubscriptions(session, permit)
  }

  /**
   * The connection's Session rests or ends, and its Will Message is owed unless the client has
   * taken it back.
   */
  ended(connection: Connection, session: Session | undefined): void {
    this.#live.remove(connection)
    this.#throttled.delete(connection)
    this.#heldUp.delete(connection)
    if (session === undefined || session.connection !== connection) return
    this.counters.connections -= 1
    this.#live.ended(connection, session)
    session.connection = undefined
    if (connection.hasPending) session.lastWindow = connection.window
    const now = this.clock.steady()
    if (connection.will !== undefined) this.#wills.owe(session, connection.will, connection.permit, now)
    this.#sessions.rest(session, now)
  }

  /**
   * Durations do not depend on the machine's clock. When it was set, the ends of permits, which are
   * times of day, are planned again.
   */
  #followClock(): void {
    const aheadMs = this.clock.now() - this.clock.steady()
    const stepMs = aheadMs - this.#clockAheadMs
    if (Math.abs(stepMs) < CLOCK_STEP_MS) return
    this.#clockAheadMs = aheadMs
    this.log.warn({ stepMs }, 'clock.stepped')
    for (const connection of this.#live.open()) if (connection.isConnected) connection.planExpiry()
  }
}
