/** The requests about the running broker: connections, refusals and the status of the service. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { NearBound } from './organization-bounds.ts'
import { request } from './request.ts'

/** The holder of a client's credentials. A member that does not apply is "". */
export interface HolderFields {
  readonly organizationName: string
  readonly userID: string
  readonly userName: string
  readonly serviceCredentialID: string
  readonly serviceCredentialName: string
  readonly tokenID: string
}

/** A Topic Filter that no message can match at present. */
export interface UnmatchedTopicFilter {
  readonly topicFilter: string
  readonly reason: string
}

export interface Connection extends HolderFields {
  readonly id: string
  readonly clientID: string
  readonly address: string
  readonly listener: string
  readonly protocolVersion: string
  readonly openedAt: string
  readonly keepAliveSeconds: number
  readonly topicFilters: readonly string[]
  readonly topicFilterCount: number
  readonly unmatchedTopicFilters: readonly UnmatchedTopicFilter[]
  readonly messagesIn: string
  readonly messagesOut: string
  readonly bytesIn: string
  readonly bytesOut: string
  readonly messagesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesInPerSecond: number
  readonly bytesOutPerSecond: number
}

/** A refusal that a client got, once or several times. */
export interface ClientRefusal {
  readonly kind: string
  readonly code: string
  readonly message: string
  readonly clientID: string
  readonly address: string
  readonly topic: string
  readonly at: string
  readonly firstAt: string
  readonly count: number
}

/** A refusal with the holder of the client. */
export interface Refusal extends ClientRefusal, HolderFields {}

/** The clients that use a token, and the last refusal of one. */
export interface TokenStatus {
  readonly connections: readonly Pick<Connection, 'id' | 'clientID' | 'address' | 'listener' | 'openedAt'>[]
  readonly connectionCount: number
  readonly lastRefusal: ClientRefusal | null
}

/** The state of a token's clients, asked for repeatedly while a person waits for a first client. */
export function useTokenStatus(tokenId: string, refetchIntervalMs: number) {
  return useQuery({
    queryKey: ['broker-token-status', tokenId],
    queryFn: ({ signal }) =>
      request<TokenStatus>('GET', `/api/broker-tokens/${encodeURIComponent(tokenId)}/status`, { signal }),
    refetchInterval: refetchIntervalMs,
    retry: false,
    placeholderData: keepPreviousData,
  })
}

export interface LoadSample {
  readonly at: string
  readonly messagesInPerSecond: number
  readonly messagesOutPerSecond: number
  readonly bytesInPerSecond: number
  readonly bytesOutPerSecond: number
  readonly connections: number
  readonly eventLoopDelayMs: number
}

/** The health of a part of the service. */
interface PartHealth {
  readonly name: string
  readonly isWell: boolean
  readonly reason: string
}

/** A living node of the deployment. */
export interface NodeStatus {
  readonly name: string
  readonly version: string
  readonly isReady: boolean
  readonly startedAt: string
  /** Time since the node was heard last. */
  readonly silentMs: number
  /** False: its numbers are null. */
  readonly hasAnswered: boolean
  readonly parts: readonly PartHealth[]
  readonly connections: number | null
  readonly sessions: number | null
}

/** A node that does not live any more. */
export interface LostNode {
  readonly name: string
  readonly endedAt: string
  /** False: it was lost. */
  readonly isOrderly: boolean
  /** The node that has its Sessions now. */
  readonly heir: string | null
}

/** A server that keeps messages or the registry. Its texts are for people. */
export interface ServerStatus {
  readonly kind: 'nats' | 'postgresql'
  readonly name: string
  readonly isWell: boolean
  readonly role: string
  readonly lag: string
  readonly reason: string
}

/** The numbers of the service. */
export interface ServiceNumbers {
  readonly parts: readonly PartHealth[]
  /** Empty where the service keeps everything itself. */
  readonly servers: readonly ServerStatus[]
  /** Absent in a deployment of one node. */
  readonly lostNodes?: readonly LostNode[]
  /** Absent in a deployment of one node. */
  readonly nodes?: readonly NodeStatus[]
  readonly connections: number
  readonly sessions: number
  readonly subscriptions: number
  readonly storedMessages: string
  readonly storedBytes: string
  readonly oldestStoredAt: string | null
  readonly retentionDays: number | null
  readonly retentionBytes: string | null
  readonly diskFreeBytes: string | null
  readonly diskTotalBytes: string | null
  readonly memoryBytes: string
  /** The nearest first, 100 at most. */
  readonly nearBounds: readonly NearBound[]
  readonly load: readonly LoadSample[]
}

/** The health of the service. */
export interface ServiceStatus {
  readonly isWell: boolean
  readonly version: string
  /** The runtime of the service and its version: `Bun 1.4.5`. */
  readonly runtime: string
  readonly startedAt: string
  /** Null for everybody except global admins. */
  readonly numbers: ServiceNumbers | null
}

/**
 * The status of the service. It is asked for every few seconds, as often as the service measures.
 */
export function useServiceStatus() {
  return useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => request<ServiceStatus>('GET', '/api/status', { signal }),
    refetchInterval: 5_000,
  })
}
