/** The settings of bounds: of one packet, of one organization, of one user and of one address. */
import { BOUND_NAMES, ORGANIZATION_BOUNDS } from '../organization-bounds.ts'
import type { BoundName, OrganizationBounds } from '../organization-bounds.ts'
import { integer } from './kinds.ts'
import type { Definition } from './kinds.ts'

/** The setting of one bound of organizations. */
function ofOrganization(name: string, bound: BoundName): Definition<number> {
  const { default: value, minimum, maximum, description } = ORGANIZATION_BOUNDS[bound]
  return integer({ name, default: value, minimum, maximum, description })
}

/** A part of the table of settings. */
export const boundDefinitions = {
  maximumPacketSizeBytes: integer({
    name: 'FIELDGATE_MAXIMUM_PACKET_SIZE_BYTES',
    default: 1_048_576,
    minimum: 1024,
    maximum: 268_435_460,
    description: 'The largest MQTT packet that the broker takes. A larger one ends the connection.',
  }),
  maximumConnectionsPerOrganization: ofOrganization('FIELDGATE_MAXIMUM_CONNECTIONS_PER_ORGANIZATION', 'connections'),
  maximumConnectsPerSecondPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_CONNECTS_PER_SECOND_PER_ORGANIZATION',
    'connectsPerSecond',
  ),
  maximumSessionsPerOrganization: ofOrganization('FIELDGATE_MAXIMUM_SESSIONS_PER_ORGANIZATION', 'sessions'),
  maximumSubscriptionsPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_SUBSCRIPTIONS_PER_ORGANIZATION',
    'subscriptions',
  ),
  maximumTopicFilterBytesPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_TOPIC_FILTER_BYTES_PER_ORGANIZATION',
    'topicFilterBytes',
  ),
  maximumRetainedMessagesPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_RETAINED_MESSAGES_PER_ORGANIZATION',
    'retainedMessages',
  ),
  maximumRetainedBytesPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_RETAINED_BYTES_PER_ORGANIZATION',
    'retainedBytes',
  ),
  maximumStoredBytesPerOrganization: ofOrganization('FIELDGATE_MAXIMUM_STORED_BYTES_PER_ORGANIZATION', 'storedBytes'),
  maximumPublishesPerSecondPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_ORGANIZATION',
    'publishesPerSecond',
  ),
  maximumPublishedBytesPerSecondPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_ORGANIZATION',
    'publishedBytesPerSecond',
  ),
  maximumPublishesPerSecondPerNetworkServer: integer({
    name: 'FIELDGATE_MAXIMUM_PUBLISHES_PER_SECOND_PER_NETWORK_SERVER',
    default: 50_000,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'PUBLISH packets that one service credential of the whole deployment may send in a second. Beyond, its connections are read more slowly; nothing is refused. The events of all organizations come on it.',
  }),
  maximumPublishedBytesPerSecondPerNetworkServer: integer({
    name: 'FIELDGATE_MAXIMUM_PUBLISHED_BYTES_PER_SECOND_PER_NETWORK_SERVER',
    default: 67_108_864,
    minimum: 1024,
    maximum: 68_719_476_736,
    description:
      'Bytes that one service credential of the whole deployment may send in a second. Beyond, its connections are read more slowly; nothing is refused.',
  }),
  maximumOutgoingBytesPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_OUTGOING_BYTES_PER_ORGANIZATION',
    'outgoingBytes',
  ),
  maximumWaitingCommandsPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_WAITING_COMMANDS_PER_ORGANIZATION',
    'waitingCommands',
  ),
  maximumCodecMsPerSecondPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_CODEC_MS_PER_SECOND_PER_ORGANIZATION',
    'codecMsPerSecond',
  ),
  maximumHttpRequestsPerSecondPerOrganization: ofOrganization(
    'FIELDGATE_MAXIMUM_HTTP_REQUESTS_PER_SECOND_PER_ORGANIZATION',
    'httpRequestsPerSecond',
  ),
  maximumConnectionsPerUser: integer({
    name: 'FIELDGATE_MAXIMUM_CONNECTIONS_PER_USER',
    default: 1000,
    minimum: 1,
    maximum: 10_000_000,
    description: 'MQTT connections that one user, or one service credential, may hold at the same time.',
  }),
  maximumMemoryBytes: integer({
    name: 'FIELDGATE_MAXIMUM_MEMORY_BYTES',
    default: 0,
    minimum: 0,
    maximum: 17_592_186_044_416,
    description:
      'Memory of the process, in bytes. Beyond it, the organizations that hold the most can hold no more. 0: three quarters of the memory of the machine or container.',
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
  maximumHttpRequestsPerAddress: integer({
    name: 'FIELDGATE_MAXIMUM_HTTP_REQUESTS_PER_ADDRESS',
    default: 200,
    minimum: 0,
    maximum: 10_000_000,
    description:
      'HTTP requests without a good credential (logins, health, unknown paths, pages) that one client address may make in a second, on average over ten seconds. Beyond, each waits for up to a second; none is refused. 0 for no limit.',
  }),
} as const

type SettingOf<Name extends BoundName> = `maximum${Capitalize<Name>}PerOrganization`

/** The bounds that the settings give to each organization without overrides. */
export function organizationBounds(settings: { readonly [name in SettingOf<BoundName>]: number }): OrganizationBounds {
  return Object.fromEntries(
    BOUND_NAMES.map((name) => [name, settings[`maximum${capitalized(name)}PerOrganization`]]),
  ) as unknown as OrganizationBounds
}

function capitalized<Name extends string>(name: Name): Capitalize<Name> {
  return (name.charAt(0).toUpperCase() + name.slice(1)) as Capitalize<Name>
}
