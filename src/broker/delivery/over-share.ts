/**
 * Notes about tenants that are over their share of the way to the log: a line in the log, and the
 * number of messages that were refused for it.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import type { Counters } from '../ports/counters.ts'

/**
 * A tenant that is over its share is logged once in this time: its share may be full many times a
 * second.
 */
const TOLD_MS = 60_000
/**
 * The number of tenants that are logged in that time, and of tenants whose refused messages are
 * counted. Bounds the memory for them.
 */
const MAXIMUM_TENANTS = 1_000

export class OverShare {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #counters: Pick<Counters, 'publishesOverShare'>
  /** The tenants that were logged since `#toldSince`. */
  readonly #told = new Set<string>()
  #toldSince: number = -Infinity
  /** By tenant: the messages that were refused since the start. */
  readonly #refused = new Map<string, number>()

  constructor(clock: Clock, log: Logger, counters: Pick<Counters, 'publishesOverShare'>) {
    this.#clock = clock
    this.#log = log
    this.#counters = counters
  }

  /** The messages of the tenant that were refused since the start. */
  refusedOf(tenant: string): number {
    return this.#refused.get(tenant) ?? 0
  }

  /** A message of the tenant waits for room. */
  waits(tenant: string): void {
    if (this.#isNews(tenant)) this.#log.warn({ tenant }, 'publish.over_share')
  }

  /** A message of the tenant found no room to wait. */
  refuses(tenant: string): void {
    const messages = this.refusedOf(tenant) + 1
    this.#counters.publishesOverShare += 1
    if (messages > 1 || this.#refused.size < MAXIMUM_TENANTS) this.#refused.set(tenant, messages)
    if (this.#isNews(`${tenant}\0refused`)) this.#log.warn({ tenant, messages }, 'publish.refused_over_share')
  }

  #isNews(subject: string): boolean {
    const nowMs = this.#clock.steady()
    if (nowMs - this.#toldSince >= TOLD_MS) {
      this.#told.clear()
      this.#toldSince = nowMs
    }
    if (this.#told.has(subject) || this.#told.size >= MAXIMUM_TENANTS) return false
    this.#told.add(subject)
    return true
  }
}
