/**
 * A broker for the tests of this folder: clients that are connected, and refusals, as a test puts
 * them.
 */
import type { Clock } from '../../clock.ts'
import { pickConnections } from './broker-views.ts'
import type { BrokerViews, ConnectionsAsked, HolderIds, KeptRefusal, LiveConnection, OfNodes } from './broker-views.ts'
import type { NodeStatus, ServiceStatus } from './status.ts'

const NOBODY: HolderIds = {
  organizationId: undefined,
  userId: undefined,
  serviceCredentialId: undefined,
  tokenId: undefined,
}

export class TestBrokerViews implements BrokerViews {
  readonly #connections = new Map<string, LiveConnection>()
  readonly #refusals: KeptRefusal[] = []
  /** The nodes that do not answer. */
  missing: readonly string[] = []
  readonly #prefix: string
  #count = 0

  /** The ids of the connections begin with the prefix. */
  constructor(prefix = '') {
    this.#prefix = prefix
  }

  /** Puts a client in. */
  connect(holder: Partial<HolderIds>, facts: Partial<LiveConnection['facts']> = {}): LiveConnection {
    this.#count += 1
    const connection: LiveConnection = {
      id: `${this.#prefix}c${this.#count}`,
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
        topicFilterCount: facts.topicFilters?.length ?? 1,
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

  /** Takes all clients out. */
  disconnectAll(): void {
    this.#connections.clear()
  }

  async connections(asked: ConnectionsAsked) {
    const all = [...this.#connections.values()].filter(isOf(asked.organizationId)).toReversed()
    return { ...pickConnections(all, asked), missing: this.missing }
  }

  async connection(id: string): Promise<LiveConnection | undefined> {
    return this.#connections.get(id)
  }

  async endConnection(id: string): Promise<boolean> {
    return this.#connections.delete(id)
  }

  async connectionsWith(tokenIds: readonly string[]): ReturnType<BrokerViews['connectionsWith']> {
    const all = [...this.#connections.values()]
    const counts = new Map(tokenIds.map((id) => [id, all.filter(({ holder }) => holder.tokenId === id).length]))
    return { counts, missing: this.missing }
  }

  async refusals({ organizationId, userId }: Parameters<BrokerViews['refusals']>[0]): Promise<OfNodes<KeptRefusal>> {
    const items = this.#refusals
      .filter(isOf(organizationId))
      .filter(({ holder }) => userId === undefined || holder.userId === userId)
    return { items, missing: this.missing }
  }
}

function isOf(organizationId: string | undefined): (thing: { readonly holder: HolderIds }) => boolean {
  return ({ holder }) => organizationId === undefined || holder.organizationId === organizationId
}

/** The nodes of a deployment, of which one does not answer. */
export const TEST_NODES: readonly NodeStatus[] = [
  {
    name: 'node-1',
    version: '1.2.3',
    isReady: true,
    startedAtMs: Date.UTC(2026, 0, 15, 12),
    silentMs: 0,
    answer: { parts: [{ name: 'messages', isWell: true, reason: '' }], connections: 1, sessions: 2 },
  },
  {
    name: 'node-2',
    version: '1.2.3',
    isReady: false,
    startedAtMs: Date.UTC(2026, 0, 15, 13),
    silentMs: 1_200.4,
    answer: undefined,
  },
]

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
    servers: async () => [],
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
