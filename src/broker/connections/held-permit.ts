/**
 * The permit that a connection holds. It is watched, and the connection ends with it: when the
 * policy says so, when it no longer allows a subscription, or by the time of day. Some minutes
 * before that time, the client gets a notice.
 */
import { later, momentOf } from '../../clock.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import { expiryNoticeAt, sendExpiryNotice } from '../delivery/expiry-notice.ts'
import type { Permit, PermitEnd, PermitWatcher } from '../ports/policy.ts'
import type { Deadline } from '../sessions/deadlines.ts'
import type { Session } from '../sessions/session.ts'
import type { ConnectionHost } from './connection-host.ts'

/** The connection that holds the permit. */
export interface PermitOwner {
  readonly isConnected: boolean
  readonly session: Session
  disconnect(reasonCode: ReasonCode, reason: string, code: string): void
}

type PermitHost = Pick<ConnectionHost<never>, 'clock' | 'deadlines' | 'dropRefusedSubscriptions'>

/** A client that takes no bytes gets its notice when it takes them again, by a try a second. */
const NOTICE_AGAIN_MS = 1_000

export class HeldPermit implements Deadline, PermitWatcher {
  readonly #host: PermitHost
  readonly #owner: PermitOwner
  /** Its deadline is that of the notice at first, and then the end of the permit. */
  dueSecond = -1
  #isNoticed = false
  #noticeAtMs = Infinity
  #permit: Permit | undefined = undefined

  constructor(host: PermitHost, owner: PermitOwner) {
    this.#host = host
    this.#owner = owner
  }

  /** The permit. There is one once CONNECT is accepted. */
  get permit(): Permit {
    return this.#permit as Permit
  }

  /** Takes a permit, in the place of the earlier one if there was one. */
  hold(permit: Permit): void {
    this.#permit?.unwatch(this)
    this.#permit = permit
    permit.watch(this)
    const { clock, deadlines } = this.#host
    const { expiresAtMs, beganAtMs = clock.now() } = permit
    deadlines.clear(this)
    this.#isNoticed = false
    this.#noticeAtMs = expiresAtMs === undefined ? Infinity : expiryNoticeAt(beganAtMs, expiresAtMs)
    this.planExpiry()
  }

  /**
   * Plans the notice and the end of the connection, for the times of day that the permit gives.
   * Call it again when the machine's clock was set.
   */
  planExpiry(): void {
    const { clock, deadlines } = this.#host
    const { expiresAtMs } = this.permit
    if (expiresAtMs === undefined) return
    this.#isNoticed &&= this.#noticeAtMs <= clock.now()
    const next = this.#isNoticed ? expiresAtMs : Math.min(this.#noticeAtMs, expiresAtMs)
    deadlines.set(this, momentOf(next, clock))
  }

  /**
   * The Session has a new subscription to the notice. Within the time of the notice it gets one at
   * once; before that time it has to wait, as all have.
   */
  noticeWanted(): void {
    if (this.#isNoticed) this.#notice()
  }

  /** The connection has ended: the permit is watched no more. */
  end(): void {
    this.#host.deadlines.clear(this)
    this.#permit?.unwatch(this)
  }

  due(): void {
    const { clock, deadlines } = this.#host
    const end = momentOf(this.permit.expiresAtMs ?? Infinity, clock)
    if (this.#isNoticed || end <= clock.steady()) {
      this.#expired()
      return
    }
    this.#isNoticed = this.#notice()
    const again = later(clock.steady(), NOTICE_AGAIN_MS)
    deadlines.set(this, this.#isNoticed || end < again ? end : again)
  }

  #notice(): boolean {
    const { expiresAtMs = Infinity } = this.permit
    return sendExpiryNotice(this.#owner.session, expiresAtMs, this.#host.clock.now())
  }

  #expired(): void {
    this.#owner.disconnect(ReasonCodes.notAuthorized, 'the token has expired', 'token_expired')
  }

  permitChanged(end: PermitEnd | undefined): void {
    const owner = this.#owner
    if (!owner.isConnected) return
    if (end !== undefined) {
      owner.disconnect(end.reasonCode, end.reason, end.code)
      return
    }
    const lost = this.#host.dropRefusedSubscriptions(owner.session, this.permit)
    if (lost.length > 0) {
      owner.disconnect(
        ReasonCodes.notAuthorized,
        `no longer allowed to subscribe to ${lost.join(', ')}`,
        'permit_narrowed',
      )
    }
  }
}
