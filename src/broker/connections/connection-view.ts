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

  /** Counts up: no other connection of this process has the same number. */
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

  /** The ground that the permit rests on, in the policy's words. */
  get ground(): string {
    return this.#connection.permit.ground
  }

  get peer(): Peer {
    return this.#connection.peer
  }

  /** The protocol level: 4 is MQTT 3.1.1, 5 is MQTT 5.0. */
  get protocolVersion(): number {
    return this.#connection.protocolVersion
  }

  get openedAtMs(): number {
    return this.#connection.openedAtMs
  }

  /** The Keep Alive. 0: the client may be silent for as long as it likes. */
  get keepAliveSeconds(): number {
    return this.#connection.keepAliveSeconds
  }

  get topicFilterCount(): number {
    return this.#connection.session.subscriptions.size
  }

  get topicFilters(): readonly string[] {
    return [...this.#connection.session.subscriptions.keys()]
  }

  /**
   * Finds, among the first `maximum` Topic Filters, those that can match nothing at present, with
   * the reason. The policy is asked anew, so a resumed Session gets a current answer too.
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

  /** The messages and bytes that the connection has carried since it was opened. */
  get carried(): Pick<Traffic, 'messagesIn' | 'messagesOut' | 'bytesIn' | 'bytesOut'> {
    return this.#connection.traffic
  }

  /** The rates at which the connection carries messages and bytes at present. */
  get rates(): TrafficRates {
    return this.#connection.rates
  }
}
