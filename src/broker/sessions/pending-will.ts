/** A Will Message that waits for its delay, or is about to be published. */
import type { WillMessage } from '../../mqtt/packet.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Permit } from '../ports/policy.ts'
import type { Deadline } from './deadlines.ts'

export interface PendingWill {
  readonly will: WillMessage
  /**
   * The permit to send it. Undefined after a restart: the policy is asked for one when the Will
   * Message is due.
   */
  readonly permit: Permit | undefined
  /** The ground that the permit rests on, in the policy's own words. */
  readonly ground: string
  /** The time of day at which the right to send it ends, ms since 1970. */
  readonly permitExpiresAtMs: number | undefined
  readonly dueAt: SteadyMs
  readonly deadline: Deadline
}

/** A Will Message that is published now, if its permit allows it. */
export type DueWill = Pick<PendingWill, 'will' | 'permit' | 'ground' | 'permitExpiresAtMs'>
