/** The broker, as a connection that is open to it knows it. */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { IncomingClientPacket } from '../../mqtt/packet-reader.ts'
import type { LastJoin } from '../delivery/last-join.ts'
import type { Flushable } from '../delivery/turns.ts'
import type { Counters } from '../ports/counters.ts'
import type { Limits } from '../ports/limits.ts'
import type { Permit } from '../ports/policy.ts'
import type { BackPressure, WaitingLink } from '../publishing/back-pressure.ts'
import type { UnacknowledgedPublishes } from '../publishing/connection-publishes.ts'
import type { PublisherLink } from '../publishing/publisher-link.ts'
import type { RefusalFields } from '../refusals/recent-refusals.ts'
import type { Deadlines } from '../sessions/deadlines.ts'
import type { Session } from '../sessions/session.ts'
import type { Accounts } from './accounts.ts'

export interface ConnectionHost<Connection> {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly deadlines: Deadlines
  /** The joined buffer that all connections share within a turn. */
  readonly lastJoin: LastJoin
  /** The accounts that pay for the connections. */
  readonly accounts: Accounts
  /** Grows by one each second. */
  readonly second: number
  /** Handles one packet. A promise: the connection's next packet has to wait for it. */
  readonly handle: (connection: Connection, packet: IncomingClientPacket) => Promise<void> | undefined
  /** Calls `flush` of the connection after the turn. */
  flushLater(connection: Flushable): void
  /** Lets the Session send more: its connection takes bytes again. */
  wake(session: Session): void
  /** Calls `unthrottle` of the connection with the next tick. */
  throttle(connection: Connection): void
  /** Calls `answerPings` of the connection with each tick, until it returns false. */
  heldUp(connection: Connection): void
  createBackPressure(link: WaitingLink): BackPressure
  createUnacknowledgedPublishes(link: PublisherLink): UnacknowledgedPublishes
  /** Counts and keeps the refusal of a CONNECT. */
  connectRefused(refusal: RefusalFields): void
  /** Takes away subscriptions that the permit does not allow; returns their Topic Filters. */
  dropRefusedSubscriptions(session: Session, permit: Permit): readonly string[]
  /** The connection is over, however it ended. */
  ended(connection: Connection, session: Session | undefined): void
}
