/** The settings of bounds: of one packet, of one organization, of one user and of one address. */
import { integer } from './kinds.ts'

/** A part of the table of settings. */
export const boundDefinitions = {
  maximumPacketSizeBytes: integer({
    name: 'FIELDGATE_MAXIMUM_PACKET_SIZE_BYTES',
    default: 1_048_576,
    minimum: 1024,
    maximum: 268_435_460,
    description: 'The largest MQTT packet that the broker takes. A larger one ends the connection.',
  }),
  maximumConnectionsPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_CONNECTIONS_PER_ORGANIZATION',
    default: 10_000,
    minimum: 1,
    maximum: 10_000_000,
    description: 'MQTT connections that one organization may hold at the same time.',
  }),
  maximumConnectionsPerUser: integer({
    name: 'FIELDGATE_MAXIMUM_CONNECTIONS_PER_USER',
    default: 1000,
    minimum: 1,
    maximum: 10_000_000,
    description: 'MQTT connections that one user, or one service credential, may hold at the same time.',
  }),
  maximumSessionsPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_SESSIONS_PER_ORGANIZATION',
    default: 10_000,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'MQTT Sessions that one organization may have at the same time. Each connection has a Session; Sessions without a connection count too.',
  }),
  maximumSubscriptionsPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_SUBSCRIPTIONS_PER_ORGANIZATION',
    default: 50_000,
    minimum: 1,
    maximum: 100_000_000,
    description: 'Subscriptions that all Sessions of one organization may have together.',
  }),
  maximumTopicFilterBytesPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_TOPIC_FILTER_BYTES_PER_ORGANIZATION',
    default: 16_777_216,
    minimum: 1024,
    maximum: 68_719_476_736,
    description: 'Bytes that the Topic Filters of these subscriptions may have together.',
  }),
  maximumRetainedMessagesPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_RETAINED_MESSAGES_PER_ORGANIZATION',
    default: 10_000,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Retained messages that are kept for one organization: those on the topics of its devices, whoever publishes them.',
  }),
  maximumRetainedBytesPerOrganization: integer({
    name: 'FIELDGATE_MAXIMUM_RETAINED_BYTES_PER_ORGANIZATION',
    default: 33_554_432,
    minimum: 0,
    maximum: 268_435_456,
    description:
      'Bytes that the retained messages of one organization may have together. 268435456 is the bound for all organizations.',
  }),
  maximumHttpsConnectsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_HTTPS_CONNECTS_PER_ADDRESS',
    default: 200,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'Connections that one client address may open to the HTTPS port in a second, on average over ten seconds. 0 for no limit.',
  }),
  maximumMqttConnectsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_MQTT_CONNECTS_PER_ADDRESS',
    default: 200,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'MQTT connections, over TLS and over WebSocket together, that one client address may open in a second, on average over ten seconds. A site behind one address has many clients, which all come back at once. 0 for no limit.',
  }),
  maximumHttpsConnectionsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_HTTPS_CONNECTIONS_PER_ADDRESS',
    default: 10_000,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'Connections to the HTTPS port that one client address may hold at the same time. The port takes 20,000 in total. 0 for no limit.',
  }),
  maximumMqttConnectionsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_MQTT_CONNECTIONS_PER_ADDRESS',
    default: 20_000,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'MQTT connections, over TLS and over WebSocket together, that one client address may hold at the same time. 0 for no limit.',
  }),
  maximumSilentHttpsConnectionsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_SILENT_HTTPS_CONNECTIONS_PER_ADDRESS',
    default: 1000,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'Connections to the HTTPS port on which one client address has not sent a request yet. 1,000 of them take 100 MB at most. 0 for no limit.',
  }),
  maximumSilentMqttConnectionsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_SILENT_MQTT_CONNECTIONS_PER_ADDRESS',
    default: 2000,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'Connections to the MQTTS port on which one client address has not finished the TLS handshake yet. 0 for no limit.',
  }),
} as const
