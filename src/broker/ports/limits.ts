/**
 * Every bound of the broker core, with its default, its effect when it is reached, and the attack
 * that it stops.
 */
import type { QoS } from '../../mqtt/packet.ts'
import { levelsOf } from '../../mqtt/topic.ts'
import type { Topic } from '../../mqtt/topic.ts'

/** The bounds of one tenant. A tenant may have bounds of its own. */
export interface TenantLimits {
  /** Connections of one tenant; the next: CONNACK 0x97. */
  readonly maximumConnectionsPerTenant: number
  /**
   * Sessions of one tenant, asleep ones included; the next: CONNACK 0x97. Stops Session bombs by
   * many identities.
   */
  readonly maximumSessionsPerTenant: number
  /**
   * Subscriptions of all Sessions of one tenant; the next: SUBACK 0x97. Stops one tenant from
   * filling the memory of all by many Sessions with many subscriptions each.
   */
  readonly maximumSubscriptionsPerTenant: number
  /**
   * UTF-8 bytes of the Topic Filters of all subscriptions of one tenant; more: SUBACK 0x97. Stops
   * the same attack by few subscriptions with long Topic Filters.
   */
  readonly maximumTopicFilterBytesPerTenant: number
  /**
   * Retained messages kept for one tenant; one more: 0x97. Stops one tenant from taking the room
   * of all.
   */
  readonly maximumRetainedMessagesPerTenant: number
  /**
   * Payload and topic bytes of one tenant's retained messages; more: 0x97. Stops one tenant from
   * taking the room of all.
   */
  readonly maximumRetainedBytesPerTenant: number
  /**
   * Bytes buffered towards all clients of one tenant. A client may have as many of them as are
   * still free: so the client that leaves the most unread is held back first, as at
   * `maximumOutgoingBytes`. 64 KiB of each client are free of the bound. Stops a tenant with many
   * clients that never read.
   */
  readonly maximumOutgoingBytesPerTenant: number
  /**
   * CONNECTs of one account in a second, on average over ten seconds; the next: CONNACK 0x9F. An
   * account is a tenant, or a network server of the whole deployment. Stops storms of connections
   * that would take the processor from the other tenants.
   */
  readonly maximumConnectsPerSecondPerTenant: number
  /**
   * PUBLISH packets that are read from all connections of one account in a second; then reading
   * goes on in small portions. Stops floods over many connections.
   */
  readonly maximumPublishesPerSecondPerTenant: number
  /**
   * Bytes that are read from all connections of one account in a second; then reading goes
   * on in small portions. Stops floods of few large packets.
   */
  readonly maximumPublishedBytesPerSecondPerTenant: number
}

/** The bounds of a tenant, by its name. Called often: it must be as cheap as a look-up. */
export type TenantLimitsOf = (tenant: string) => TenantLimits

export interface Limits extends TenantLimits {
  /**
   * Bytes of a CONNECT; a longer one is closed unanswered once its fixed header is there. Stops
   * megabytes read before authentication.
   */
  readonly maximumConnectPacketSizeBytes: number
  /**
   * Time from accepted connection to CONNACK; then it is closed. Stops CONNECTs dripped byte by
   * byte.
   */
  readonly connectTimeoutMs: number
  /**
   * Bytes of any packet after CONNECT, announced as Maximum Packet Size; a longer one: DISCONNECT
   * 0x95.
   */
  readonly maximumPacketSizeBytes: number
  /** UTF-8 bytes of a Client Identifier; a longer one: CONNACK 0x85. Bounds keys held in memory. */
  readonly maximumClientIdBytes: number
  /**
   * UTF-8 bytes of a Topic Name or Topic Filter; longer: 0x90 or 0x8F. Bounds keys held in memory.
   */
  readonly maximumTopicBytes: number
  /**
   * Levels of a Topic Name or Topic Filter; more: 0x90 or 0x8F. Bounds the work and depth of
   * matching.
   */
  readonly maximumTopicLevels: number
  /** Subscriptions of one Session; the next: SUBACK 0x97. Stops subscription bombs. */
  readonly maximumSubscriptionsPerSession: number
  /** Highest QoS accepted from a publisher and granted to a subscriber. */
  readonly maximumQoS: QoS
  readonly retainAvailable: boolean
  /** Retained messages kept in all; one more: 0x97. */
  readonly maximumRetainedMessages: number
  /** Payload and topic bytes of all retained messages; more: 0x97. */
  readonly maximumRetainedBytes: number
  /**
   * QoS 1 and 2 messages that a client may have unacknowledged towards us (Receive Maximum); more:
   * DISCONNECT 0x93. MQTT 3.1.1 has no Receive Maximum, and a client whose messages wait for room
   * has a higher one. From these clients nothing is read while that many messages are not owned
   * yet, or wait for their transformer.
   */
  readonly receiveMaximum: number
  /**
   * QoS 1 and 2 messages that we have unacknowledged towards one client; further messages wait in
   * the log.
   */
  readonly maximumInflight: number
  /**
   * Bytes of the messages of QoS 1 and 2 that we have unacknowledged towards one client; further
   * messages wait in the log. Stops a client that reads and never acknowledges: a thousand messages
   * of a megabyte would stay in memory for it.
   */
  readonly maximumInflightBytes: number
  /**
   * Messages of the log that one Session may be behind with. The oldest beyond the bound are lost
   * to it, counted and told.
   */
  readonly maximumQueuedMessages: number
  /**
   * Payload bytes of the log that one Session may be behind with. The oldest messages beyond the
   * bound are lost to it, counted and told.
   */
  readonly maximumQueuedBytes: number
  /** Topic Aliases that a client may set on one connection; a higher one: DISCONNECT 0x94. */
  readonly topicAliasMaximum: number
  /** Topic Aliases that we set towards a client that allows them. */
  readonly outgoingTopicAliasMaximum: number
  /**
   * Seconds. In MQTT 5 a longer Keep Alive, or none, is overruled by Server Keep Alive. 0: no
   * bound.
   */
  readonly maximumKeepAliveSeconds: number
  /** Seconds; a longer Session Expiry Interval is cut to it. Bounds Sessions left behind. */
  readonly maximumSessionExpirySeconds: number
  /**
   * Bytes buffered towards a client. Beyond, QoS 0 is dropped, QoS 1 and 2 wait in the log, and
   * nothing is read from the client.
   */
  readonly maximumOutgoingBytes: number
  /**
   * Time for which a client may stay at `maximumOutgoingBytes`; then DISCONNECT 0x97. Stops readers
   * that never read.
   */
  readonly slowReaderTimeoutMs: number
  /** Connections in all; the next is closed unanswered. */
  readonly maximumConnections: number
  /** Connections of one identity within its tenant; the next: CONNACK 0x97. */
  readonly maximumConnectionsPerIdentity: number
  /**
   * Sessions of one identity, asleep ones included; the next: CONNACK 0x97. Stops Session bombs.
   */
  readonly maximumSessionsPerIdentity: number
  /**
   * Bytes a second read from one connection, on average over a second; beyond, reading waits for
   * the next second.
   */
  readonly maximumBytesPerSecond: number
  /**
   * Bytes of messages that were given to the engine and that the log does not own yet, in all. A
   * tenant may have as many of them as are still free. Beyond, its messages wait, and its
   * connections are not read. Stops floods that fill the way to the log for the other tenants.
   */
  readonly maximumBytesTowardLog: number
}

export const DEFAULT_LIMITS: Limits = {
  maximumConnectPacketSizeBytes: 65_536,
  connectTimeoutMs: 10_000,
  maximumPacketSizeBytes: 1_048_576,
  maximumClientIdBytes: 256,
  maximumTopicBytes: 1_024,
  maximumTopicLevels: 32,
  maximumSubscriptionsPerSession: 1_000,
  maximumSubscriptionsPerTenant: 50_000,
  maximumTopicFilterBytesPerTenant: 16_777_216,
  maximumQoS: 2,
  retainAvailable: true,
  maximumRetainedMessages: 1_000_000,
  maximumRetainedBytes: 268_435_456,
  maximumRetainedMessagesPerTenant: 10_000,
  maximumRetainedBytesPerTenant: 33_554_432,
  // Without tenants there is nobody to protect from a client that is fast.
  maximumConnectsPerSecondPerTenant: Infinity,
  maximumPublishesPerSecondPerTenant: Infinity,
  maximumPublishedBytesPerSecondPerTenant: Infinity,
  receiveMaximum: 1_024,
  maximumInflight: 1_024,
  maximumInflightBytes: 8_388_608,
  maximumQueuedMessages: 1_000_000,
  maximumQueuedBytes: 1_073_741_824,
  topicAliasMaximum: 1_024,
  outgoingTopicAliasMaximum: 64,
  maximumKeepAliveSeconds: 0,
  maximumSessionExpirySeconds: 604_800,
  maximumOutgoingBytes: 4_194_304,
  maximumOutgoingBytesPerTenant: 67_108_864,
  slowReaderTimeoutMs: 30_000,
  maximumConnections: 100_000,
  maximumConnectionsPerTenant: 20_000,
  maximumConnectionsPerIdentity: 10_000,
  maximumSessionsPerIdentity: 10_000,
  maximumSessionsPerTenant: 10_000,
  maximumBytesPerSecond: 134_217_728,
  maximumBytesTowardLog: 4_194_304,
}

/**
 * False for a Topic Name or Topic Filter that is longer, or has more levels, than the limits allow.
 */
export function isTopicWithin(topic: string, { maximumTopicBytes, maximumTopicLevels }: Limits): boolean {
  // A UTF-16 unit is at most three bytes of UTF-8: most texts need not be measured.
  if (topic.length * 3 > maximumTopicBytes && Buffer.byteLength(topic) > maximumTopicBytes) return false
  return topic.length < maximumTopicLevels || levelsOf(topic) <= maximumTopicLevels
}

/** As `isTopicWithin`, for a Topic Name whose size may have been counted before. */
export function isNameWithin(topic: Topic, { maximumTopicBytes, maximumTopicLevels }: Limits): boolean {
  return topic.bytes <= maximumTopicBytes && topic.levels <= maximumTopicLevels
}
