/** The parts of the broker that handle packets. Each handler names the parts that it uses. */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Connections } from '../connections/connections.ts'
import type { Delivery } from '../delivery/delivery.ts'
import type { RetainedMessages } from '../delivery/retained-messages.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type { Counters } from '../ports/counters.ts'
import type { Engine } from '../ports/engine.ts'
import type { Limits } from '../ports/limits.ts'
import type { Policy } from '../ports/policy.ts'
import type { Publishing } from '../publishing/publishing.ts'
import type { GroupHomes } from '../sharing/group-homes.ts'
import type { SessionMoves } from '../restoring/session-moves.ts'
import type { Refusals } from '../refusals/refusals.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { WillMessages } from '../sessions/will-messages.ts'

export interface HandlerParts {
  readonly policy: Policy
  readonly engine: Engine
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly refusals: Refusals
  readonly connections: Connections
  readonly publishing: Publishing
  readonly delivery: Delivery
  readonly retained: RetainedMessages
  readonly sessions: Sessions
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  readonly wills: WillMessages
  /** Undefined in a deployment of one node. */
  readonly moves: SessionMoves | undefined
  /** Undefined in a deployment of one node. */
  readonly groups: GroupHomes | undefined
  /** A fresh text of at least 128 random bits, for Client Identifiers that we assign. */
  readonly randomId: () => string
  /** The User Property that tells a client when its permit ends; undefined: none does. */
  readonly expiryProperty: string | undefined
}
