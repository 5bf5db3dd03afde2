/**
 * The ledger of refusals: each is counted by its kind and code, kept for people who ask why, and
 * logged.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Counters } from '../ports/counters.ts'
import type { MessageFault, Peer, Permit, PermitHolder, Refusal } from '../ports/policy.ts'
import { RecentRefusals } from './recent-refusals.ts'
import type { RefusalFields } from './recent-refusals.ts'

/** A refusal to a connection that has a permit. */
type RefusalOf = Pick<RefusalFields, 'kind' | 'code' | 'reason' | 'topic'>

/** The connection to which something was refused. */
export interface RefusedClient {
  readonly clientId: string | undefined
  readonly peer: Peer
  readonly permit: Permit
}

/** A Will Message that was refused; its connection has ended. */
export interface RefusedWill {
  readonly clientId: string
  readonly holder: PermitHolder
  readonly topicName: string
}

/**
 * Numbers of refusals by `kind:code`. The codes come from a fixed set, so their number is bounded.
 */
export type RefusalCounts = ReadonlyMap<string, number>

export interface RefusalsOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly counters: Counters
}

export class Refusals {
  /** The newest refusals, for people who ask why. */
  readonly recent = new RecentRefusals()
  readonly #clock: Clock
  readonly #log: Logger
  readonly #counters: Counters
  readonly #counts = new Map<string, number>()

  constructor({ clock, log, counters }: RefusalsOptions) {
    this.#clock = clock
    this.#log = log
    this.#counters = counters
  }

  get counts(): RefusalCounts {
    return this.#counts
  }

  /** Counts, keeps and logs a refusal to a connection; `fields` are for the log. */
  refused(client: RefusedClient, refusal: RefusalOf, fields: object): void {
    const { kind, code } = refusal
    this.#count(`${kind}:${code}`)
    this.record(client, refusal)
    this.#log.warn({ clientId: client.clientId, tenant: client.permit.tenant, code, ...fields }, `${kind}.refused`)
  }

  /** Counts and keeps the refusal of a CONNECT. */
  connectRefused(refusal: RefusalFields): void {
    this.#count(`${refusal.kind}:${refusal.code}`)
    this.recent.record(refusal, this.#clock.now())
  }

  /** Counts, keeps and logs the refusal of a Will Message. */
  willRefused({ clientId, holder, topicName }: RefusedWill, { code, reason }: Pick<Refusal, 'code' | 'reason'>): void {
    this.#count(`will:${code}`)
    // The connection has ended, and its address is gone.
    const refusal: RefusalFields = { kind: 'will', code, reason, clientId, address: '', holder, topic: topicName }
    this.recent.record(refusal, this.#clock.now())
    this.#log.warn({ clientId, tenant: holder.tenant, topicName, code }, 'will.refused')
  }

  /** Counts and keeps a fault of a message that goes on; logs the fault only while it is news. */
  noticed(client: RefusedClient, { code, reason, topic, isNews }: MessageFault): void {
    this.#counters.publishesFaulty += 1
    this.record(client, { kind: 'notice', code, reason, topic })
    if (!isNews) return
    this.#log.warn({ clientId: client.clientId, tenant: client.permit.tenant, code, topic }, 'publish.faulty')
  }

  /** Keeps a refusal to a connection, and neither counts nor logs it. */
  record({ clientId, peer, permit }: RefusedClient, refusal: RefusalOf): void {
    this.recent.record({ ...refusal, clientId, address: peer.address, holder: permit }, this.#clock.now())
  }

  #count(key: string): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
  }
}
