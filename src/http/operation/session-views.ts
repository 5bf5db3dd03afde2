/**
 * The port through which a diagnosis sees the Sessions of clients, connected and away, and whether
 * network servers are connected.
 */
import type { Presence } from '../../lorawan/commands/command-waits.ts'
import type { HolderIds, OfNodes } from './broker-views.ts'

/** A Session of a client. */
export interface KeptSession {
  readonly holder: HolderIds
  readonly clientId: string
  readonly isConnected: boolean
  /** When the client's last connection ended, ms since 1970; undefined while it is connected. */
  readonly awaySinceMs?: number | undefined
  /** Seconds for which the Session outlives its connection. */
  readonly expirySeconds: number
  /** The first 50, `$share/{ShareName}/` included. */
  readonly topicFilters: readonly string[]
  readonly topicFilterCount: number
  /** The Topic Filters among its first 50 that other members share. */
  readonly sharedTopicFilters: readonly string[]
  /** Messages that were sent and are not acknowledged. */
  readonly unacknowledged: number
  /** When the oldest of these was sent, ms since 1970; undefined when there is none. */
  readonly unacknowledgedSinceMs?: number | undefined
  /** How many of these the client takes at once; 0 while it is away. */
  readonly sendMaximum: number
  /** True while the client does not read the bytes that were sent to it. */
  readonly isCongested: boolean
  /** The messages of the log that wait for the Session. */
  readonly waiting: {
    readonly messages: number
    /** False: more may wait, for the count has a bound. */
    readonly isAll: boolean
  }
}

/** The Sessions that are meant. */
export interface SessionsAsked {
  /** Absent: of all organizations. */
  readonly organizationId?: string | undefined
  /** Absent: of all users. */
  readonly userId?: string | undefined
  /** The Client Identifier. Absent: all. */
  readonly clientId?: string | undefined
  /** Only Sessions with a subscription that reads this Topic Name. */
  readonly reads?: string | undefined
  /** At most so many of each node. */
  readonly limit: number
}

/** When the network servers that are clients of the broker were last connected. */
export interface NetworkServersSeen {
  /** Network servers with a credential of the organization. */
  readonly ofOrganization?: Presence
  /** Network servers with a credential of the whole deployment. */
  readonly ofDeployment?: Presence
}

/** The Sessions and network servers of all nodes. */
export interface SessionViews {
  sessions(asked: SessionsAsked): Promise<OfNodes<KeptSession>>
  networkServers(organizationId: string): Promise<NetworkServersSeen>
}
