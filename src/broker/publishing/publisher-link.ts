/** The connection that a PUBLISH came on, as its publishing knows it. */
import type { Session } from '../sessions/session.ts'
import type { SessionLink } from '../sessions/session-link.ts'
import type { BackPressure } from './back-pressure.ts'
import type { PublishStages } from './publish-stages.ts'

export interface PublisherLink extends SessionLink {
  readonly session: Session
  /** Set where messages of this connection are not refused for a reason that passes. */
  readonly backPressure: BackPressure | undefined
  /** The connection's next packet waits for the promise, and nothing more than a buffer is read. */
  waitFor(promise: Promise<void>): void
  /** The origin of the connection's QoS 0 messages. */
  readonly unacknowledgedPublishes: Pick<PublishStages, 'accept'>
}
