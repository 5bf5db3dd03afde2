/**
 * Will Messages that are owed: at once, or after their delay unless the client comes back (MQTT 5.0
 * §3.1.2.5, §3.1.3.2.2).
 */
import type { WillMessage } from '../../mqtt/packet.ts'
import { later } from '../../clock.ts'
import type { SteadyMs } from '../../clock.ts'
import type { Deadline } from './deadlines.ts'
import type { Deadlines } from './deadlines.ts'
import type { Permit, PermitWatcher } from '../ports/policy.ts'
import type { DueWill } from './pending-will.ts'
import type { Session } from './session.ts'

const NOBODY: PermitWatcher = { permitChanged: () => {} }

export class WillMessages {
  readonly #deadlines: Deadlines
  readonly #publish: (session: Session, pending: DueWill) => void

  constructor(deadlines: Deadlines, publish: (session: Session, due: DueWill) => void) {
    this.#deadlines = deadlines
    this.#publish = publish
  }

  /**
   * The connection is over without a DISCONNECT that takes the Will Message back [MQTT-3.1.2-8].
   */
  owe(session: Session, will: WillMessage, permit: Permit, now: SteadyMs): void {
    const { ground, expiresAtMs: permitExpiresAtMs } = permit
    if (will.delayIntervalSeconds === 0 || session.expirySeconds === 0) {
      this.#publish(session, { will, permit, ground, permitExpiresAtMs })
      return
    }
    const due = { will, permit, ground, permitExpiresAtMs }
    this.#wait(session, due, later(now, will.delayIntervalSeconds * 1000))
    // The permit is watched so that it learns of its end: it is asked when the Will Message is due.
    permit.watch(NOBODY)
  }

  /** After a restart: the Will Message of a Session that has no connection any more. */
  restore(session: Session, due: Omit<DueWill, 'permit'>, dueAt: SteadyMs): void {
    this.#wait(session, { ...due, permit: undefined }, dueAt)
  }

  /**
   * Drops the Will Message: the client is back within the delay [MQTT-3.1.3-9], or has lost the
   * right to send it.
   */
  cancel(session: Session): void {
    if (session.pendingWill === undefined) return
    this.#deadlines.clear(session.pendingWill.deadline)
    session.pendingWill.permit?.unwatch(NOBODY)
    session.pendingWill = undefined
  }

  /** The Session ends: a Will Message that still waits goes out now [MQTT-3.1.2-8]. */
  sessionEnds(session: Session): void {
    if (session.pendingWill === undefined) return
    this.#deadlines.clear(session.pendingWill.deadline)
    this.#due(session)
  }

  #due(session: Session): void {
    const pending = session.pendingWill
    session.pendingWill = undefined
    if (pending === undefined) return
    pending.permit?.unwatch(NOBODY)
    this.#publish(session, pending)
  }

  #wait(session: Session, due: DueWill, dueAt: SteadyMs): void {
    const deadline: Deadline = { dueSecond: -1, due: () => this.#due(session) }
    session.pendingWill = { ...due, dueAt, deadline }
    this.#deadlines.set(deadline, dueAt)
  }
}
