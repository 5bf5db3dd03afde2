/** A Session, connected or away, as people see it who ask why its client gets nothing. */
import type { Clock } from '../../clock.ts'
import { matches } from '../../mqtt/topic-filter.ts'
import type { Engine } from '../ports/engine.ts'
import type { Session } from '../sessions/session.ts'
import { countWaiting } from './queue-bound.ts'
import type { CountedWaiting } from './queue-bound.ts'

export interface SessionViewParts {
  readonly engine: Engine
  readonly clock: Pick<Clock, 'now' | 'steady'>
  /** By partition: the offset after the last message that was routed. */
  readonly tails: readonly number[]
}

/** Each value is read when it is asked for. */
export class SessionView {
  readonly #session: Session
  readonly #parts: SessionViewParts

  constructor(session: Session, parts: SessionViewParts) {
    this.#session = session
    this.#parts = parts
  }

  get clientId(): string {
    return this.#session.clientId
  }

  get tenant(): string {
    return this.#session.tenant
  }

  get identity(): string {
    return this.#session.identity
  }

  /** The ground of the live connection's permit; `""` while the client is away. */
  get ground(): string {
    return this.#session.connection?.permit.ground ?? ''
  }

  get isConnected(): boolean {
    return this.#session.connection !== undefined
  }

  /** When the last connection ended, ms since 1970; undefined while the client is connected. */
  get awaySinceMs(): number | undefined {
    const { restingSince } = this.#session
    if (restingSince === undefined) return undefined
    const { clock } = this.#parts
    return clock.now() - (clock.steady() - restingSince)
  }

  /** Seconds for which the Session outlives its connection. */
  get expirySeconds(): number {
    return this.#session.expirySeconds
  }

  get topicFilterCount(): number {
    return this.#session.subscriptions.size
  }

  /** The first `maximum` Topic Filters, `$share/{ShareName}/` included. */
  topicFilters(maximum: number): readonly string[] {
    const found: string[] = []
    for (const topicFilter of this.#session.subscriptions.keys()) {
      if (found.length >= maximum) break
      found.push(topicFilter)
    }
    return found
  }

  /** The shared subscriptions that have other members, at any node; up to `maximum`. */
  sharedTopicFilters(maximum: number): readonly string[] {
    const found: string[] = []
    for (const { group, topicFilter } of this.#session.subscriptions.values()) {
      if (found.length >= maximum) break
      if (group?.hasOthersThan(this.#session) === true) found.push(topicFilter)
    }
    return found
  }

  /** True when a subscription of the Session reads the Topic Name. */
  reads(topicName: string): boolean {
    for (const { group, topicFilter } of this.#session.subscriptions.values()) {
      if (matches(group?.topicFilter ?? topicFilter, topicName)) return true
    }
    return false
  }

  /** Messages of QoS 1 and 2 that were sent and are not acknowledged to the end. */
  get unacknowledged(): number {
    return this.#session.unacknowledged
  }

  /** When the oldest of these was sent, ms since 1970; undefined when there is none. */
  get unacknowledgedSinceMs(): number | undefined {
    let oldest = Infinity
    for (const { order } of this.#session.inflight.values()) oldest = Math.min(oldest, order)
    return oldest === Infinity ? undefined : Math.floor(oldest / 1_000)
  }

  /** How many of these the client takes at once; 0 while it is away. */
  get sendMaximum(): number {
    return this.#session.connection?.sendMaximum ?? 0
  }

  /** True while the client does not read the bytes that were sent to it. */
  get isCongested(): boolean {
    return this.#session.connection?.congested === true
  }

  /** Counts the messages of the log that wait for the Session; reads at most 32,768 records. */
  waiting(): Promise<CountedWaiting> {
    return countWaiting(this.#session, this.#parts.engine, this.#parts.tails)
  }
}
