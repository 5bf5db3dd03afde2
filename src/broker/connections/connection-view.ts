/** A live connection, as administrators see it. */
import type { Connection } from './connection.ts'
import type { Peer, Unmatched } from '../ports/policy.ts'
import type { Traffic, TrafficRates } from './traffic.ts'

/** A Topic Filter of a Session that can match nothing at present. */
interface UnmatchedFilter extends Unmatched {
  readonly topicFilter: string
}

/** A live connection as administrators see it: each value is read when it is asked for. */
export class ConnectionView {
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.#connection = connection
  }

  /** Counts up: no other connection of this process has the same. */
  get number(): number {
    return this.#connection.number
  }

  get clientId(): string {
    return this.#connection.session.clientId
  }

  get tenant(): string {
    return this.#connection.permit.tenant
  }

  get identity(): string {
    return this.#connection.permit.identity
  }

  /** What its permit rests on, in the policy's words. */
  get ground(): string {
    return this.#connection.permit.ground
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  /** 4 is MQTT 3.1.1. */
  get protocolVersion(): number {
    return this.#connection.protocolVersion
  }

  get openedAtMs(): number {
    return this.#connection.openedAtMs
  }

  /** 0: the client may be silent for as long as it likes. */
  get keepAliveSeconds(): number {
    return this.#connection.keepAliveSeconds
  }

  get topicFilters(): readonly string[] {
    return [...this.#connection.session.subscriptions.keys()]
  }

  /**
   * Those of its first `maximum` Topic Filters that can match nothing at present, with the reason.
   * A Session that was resumed is looked at like another, and what was registered meanwhile counts.
   */
  async unmatchedFilters(maximum: number): Promise<readonly UnmatchedFilter[]> {
    const { session, permit } = this.#connection
    const found: UnmatchedFilter[] = []
    for (const { topicFilter, group } of [...session.subscriptions.values()].slice(0, maximum)) {
      const unmatched = await permit.whyUnmatched?.(group?.topicFilter ?? topicFilter)
      if (unmatched !== undefined) found.push({ topicFilter, ...unmatched })
    }
    return found
  }

  /** What it has carried since it was opened. */
  get carried(): Pick<Traffic, 'messagesIn' | 'messagesOut' | 'bytesIn' | 'bytesOut'> {
    return this.#connection.traffic
  }

  /** What it carries at present. */
  get rates(): TrafficRates {
    return this.#connection.rates
  }
}
