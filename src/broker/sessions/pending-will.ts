/** A Will Message that waits for its delay, or for its publishing. */
import type { WillMessage } from '../../mqtt/packet.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Permit } from '../ports/policy.ts'
import type { Deadline } from './deadlines.ts'

export interface PendingWill {
  readonly will: WillMessage
  /** Undefined after a restart: the policy is asked for one when the Will Message is due. */
  readonly permit: Permit | undefined
  /** What the permit rests on. */
  readonly ground: string
  /** Time of day, ms since 1970; the right to send it ends then. */
  readonly permitExpiresAtMs: number | undefined
  readonly dueAt: SteadyMs
  readonly deadline: Deadline
  /** Stops watching the permit. */
  unwatch: () => void
}

/** A Will Message that goes out now, if it may. */
export type DueWill = Pick<PendingWill, 'will' | 'permit' | 'ground' | 'permitExpiresAtMs'>
