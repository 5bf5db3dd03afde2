/** The parts of the broker that a message meets on its way in. */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { RetainedCleaning } from '../delivery/retained-cleaning.ts'
import type { RetainedMessages } from '../delivery/retained-messages.ts'
import type { Router } from '../delivery/router.ts'
import type { SessionStore } from '../durable/session-store.ts'
import type { PublishConsumer, PublishTransformer } from '../ports/consumer.ts'
import type { Counters } from '../ports/counters.ts'
import type { Limits } from '../ports/limits.ts'
import type { Refusals } from '../refusals/refusals.ts'
import type { RepeatedPublishes } from '../refusals/repeated-publishes.ts'

export interface PublishingParts {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
  readonly consumers: readonly PublishConsumer[]
  readonly transformer: PublishTransformer | undefined
  readonly retained: RetainedMessages
  readonly cleaning: Pick<RetainedCleaning, 'remove'>
  readonly router: Router
  /** Undefined where nothing outlives the process. */
  readonly store: SessionStore | undefined
  readonly refusals: Refusals
  readonly repeatedPublishes: RepeatedPublishes
  /** Grows by one each second. */
  readonly second: number
}
