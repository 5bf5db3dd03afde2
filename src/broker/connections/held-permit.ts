/**
 * The permit that a connection holds. It is watched, and the connection ends with it: when the
 * policy says so, when it no longer allows a subscription, or by the time of day.
 */
import { momentOf } from '../../clock.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Permit, PermitEnd } from '../ports/policy.ts'
import { Deadline } from '../sessions/deadlines.ts'
import type { Session } from '../sessions/session.ts'
import type { ConnectionHost } from './connection-host.ts'

/** The connection that holds the permit. */
export interface PermitOwner {
  readonly isConnected: boolean
  readonly session: Session
  disconnect(reasonCode: ReasonCode, reason: string, code: string): void
}

type PermitHost = Pick<ConnectionHost<never>, 'clock' | 'deadlines' | 'dropRefusedSubscriptions'>

export class HeldPermit {
  readonly #host: PermitHost
  readonly #owner: PermitOwner
  readonly #expiry = new Deadline(() => this.#expired())
  #permit: Permit | undefined = undefined
  #unwatch: (() => void) | undefined = undefined

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
    this.#unwatch?.()
    this.#permit = permit
    this.#unwatch = permit.watch((end) => this.#changed(end))
    this.#host.deadlines.clear(this.#expiry)
    this.planExpiry()
  }

  /** Plans the end of the connection for the time of day at which the permit ends. */
  planExpiry(): void {
    const { clock, deadlines } = this.#host
    const { expiresAtMs } = this.permit
    if (expiresAtMs !== undefined) deadlines.set(this.#expiry, momentOf(expiresAtMs, clock))
  }

  /** The connection has ended: the permit is watched no more. */
  end(): void {
    this.#host.deadlines.clear(this.#expiry)
    this.#unwatch?.()
  }

  #expired(): void {
    this.#owner.disconnect(ReasonCodes.notAuthorized, 'the token has expired', 'token_expired')
  }

  #changed(end: PermitEnd | undefined): void {
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
