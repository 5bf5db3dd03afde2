/**
 * The gate of all requests: each counts to its payer, waits or is refused where the payer is over
 * its share.
 */
import type { FastifyRequest } from 'fastify'
import { networkOf } from '../../client-network.ts'
import { keyOf } from '../shares/request-shares.ts'
import type { RequestShares } from '../shares/request-shares.ts'
import { RequestRefused } from './errors.ts'
import type { PayerOf } from './payers.ts'

type Asking = Pick<FastifyRequest, 'caller' | 'ip'>

/** Counts requests to their payers. */
export class RequestGate {
  readonly #payerOf: PayerOf
  readonly #shares: RequestShares | undefined

  /** Without shares every request is let through. */
  constructor(payerOf: PayerOf, shares: RequestShares | undefined) {
    this.#payerOf = payerOf
    this.#shares = shares
  }

  /**
   * Counts a request without a good credential to the network of its client, which may be the
   * network of many others: so it is never refused, and waits for a second at most.
   */
  async strangerCame({ ip }: Pick<Asking, 'ip'>): Promise<void> {
    await this.#shares?.slowDown({ kind: 'network', id: networkOf(ip) })
  }

  /**
   * Counts a request that its sender may not send. Ids that are made up never reach the shares: the
   * request counts to the sender.
   */
  async refused({ caller }: Asking): Promise<void> {
    if (this.#shares === undefined) return
    const payer = await this.#payerOf(caller, undefined)
    if (payer !== undefined) await this.#shares.slowDown(payer)
  }

  /**
   * Lets a request in, or throws the refusal. The turns of the request's work go by `turnsOf`.
   * `release` must be called once.
   */
  async enter({ caller }: Asking, organizationId: string | null | undefined): Promise<Entered> {
    const payer = await this.#payerOf(caller, organizationId)
    if (payer === undefined) return UNBOUNDED
    const turnsOf = keyOf(payer)
    const admission = await this.#shares?.enter(payer)
    if (admission === undefined) return { turnsOf, release: () => undefined }
    if (admission.isAdmitted) return { turnsOf, release: admission.release }
    const headers = { 'retry-after': String(admission.retryAfterSeconds) }
    throw new RequestRefused('resource_exhausted', admission.sentence, 'too_many_requests', { headers })
  }
}

/** A request that was let in. */
export interface Entered {
  /** The payer as one text, for the turns of work. */
  readonly turnsOf: string
  readonly release: () => void
}

/** All requests without a bound share one lane of turns. */
const UNBOUNDED: Entered = { turnsOf: '', release: () => undefined }
