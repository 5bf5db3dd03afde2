/**
 * A broker for the tests of this folder: clients that are connected, and refusals, as a test puts
 * them.
 */
import type { Clock } from '../../clock.ts'
import type { BrokerViews, HolderIds, KeptRefusal, LiveConnection } from './broker-views.ts'
import type { ServiceStatus } from './status.ts'

const NOBODY: HolderIds = {
  organizationId: undefined,
  userId: undefined,
  serviceCredentialId: undefined,
  tokenId: undefined,
}

export class TestBrokerViews implements BrokerViews {
  readonly #connections = new Map<string, LiveConnection>()
  readonly #refusals: KeptRefusal[] = []
  #count = 0

  /** Puts a client in. */
  connect(holder: Partial<HolderIds>, facts: Partial<LiveConnection['facts']> = {}): LiveConnection {
    this.#count += 1
    const connection: LiveConnection = {
      id: `c${this.#count}`,
      holder: { ...NOBODY, ...holder },
      facts: {
        clientId: `client-${this.#count}`,
        peer: { address: '198.51.100.7', listener: 'tls' },
        protocolVersion: 5,
        openedAtMs: Date.UTC(2026, 0, 15, 12),
        keepAliveSeconds: 60,
        topicFilters: ['application/1/device/+/event/+'],
        unmatchedFilters: async () => [],
        carried: { messagesIn: 1, messagesOut: 2, bytesIn: 30, bytesOut: 40 },
        rates: { messagesInPerSecond: 0.5, messagesOutPerSecond: 1, bytesInPerSecond: 15, bytesOutPerSecond: 20 },
        ...facts,
      },
    }
    this.#connections.set(connection.id, connection)
    return connection
  }

  /** Puts a refusal in, as the newest. */
  refuse(holder: Partial<HolderIds>, refusal: Partial<KeptRefusal> = {}): void {
    this.#refusals.unshift({
      kind: 'connect',
      code: 'token_expired',
      reason: 'the token has expired',
      clientId: 'client',
      address: '198.51.100.7',
      topic: undefined,
      firstAtMs: Date.UTC(2026, 0, 15, 12),
      atMs: Date.UTC(2026, 0, 15, 13),
      count: 1,
      ...refusal,
      holder: { ...NOBODY, ...holder },
    })
  }

  connections(organizationId?: string): readonly LiveConnection[] {
    return [...this.#connections.values()].filter(isOf(organizationId)).toReversed()
  }

  connection(id: string): LiveConnection | undefined {
    return this.#connections.get(id)
  }

  endConnection(id: string): boolean {
    return this.#connections.delete(id)
  }

  connectionsWith(tokenId: string): number {
    return this.connections().filter(({ holder }) => holder.tokenId === tokenId).length
  }

  refusals({ organizationId, userId }: Parameters<BrokerViews['refusals']>[0]): readonly KeptRefusal[] {
    return this.#refusals
      .filter(isOf(organizationId))
      .filter(({ holder }) => userId === undefined || holder.userId === userId)
  }
}

function isOf(organizationId: string | undefined): (thing: { readonly holder: HolderIds }) => boolean {
  return ({ holder }) => organizationId === undefined || holder.organizationId === organizationId
}

/** A service that is well but for its disk. */
export function testStatus(clock: Pick<Clock, 'now' | 'steady'>): ServiceStatus {
  const startedAtMs = clock.now()
  const beganMs = clock.steady()
  return {
    version: '1.2.3',
    runtime: 'Bun 1.4.5',
    startedAtMs,
    uptimeMs: () => clock.steady() - beganMs,
    health: async () => [
      { name: 'messages', isWell: true, reason: '' },
      { name: 'disk', isWell: false, reason: 'the data directory has 3 MiB free, which is little' },
    ],
    numbers: async () => ({
      connections: 1,
      sessions: 2,
      subscriptions: 3,
      stored: { messages: 4, bytes: 5_000_000_000, oldestAtMs: startedAtMs },
      retention: { days: 7, bytes: 17_179_869_184 },
      disk: { freeBytes: 3_145_728, totalBytes: 10_737_418_240 },
      memoryBytes: 123_456_789,
      nearBounds: [{ organizationId: '1', bound: 'sessions', used: 9_000, maximum: 10_000 }],
      load: [
        {
          atMs: startedAtMs,
          messagesInPerSecond: 1.5,
          messagesOutPerSecond: 3,
          bytesInPerSecond: 300,
          bytesOutPerSecond: 600,
          connections: 1,
          eventLoopDelayMs: 0.25,
        },
      ],
    }),
  }
}
