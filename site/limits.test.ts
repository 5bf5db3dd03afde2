/** The tables of docs/mqtt.md are those of the source. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DEFAULT_LIMITS } from '../src/broker/ports/limits.ts'
import type { Limits } from '../src/broker/ports/limits.ts'
import { definitions } from '../src/settings/settings.ts'

const page = readFileSync(new URL('../docs/mqtt.md', import.meta.url), 'utf8')
const errors = readFileSync(new URL('../docs/errors.md', import.meta.url), 'utf8')

/** The row of each limit, and the setting of the limit, if it has one. */
const ROWS: { readonly [limit in keyof Limits]: readonly [row: string, setting?: keyof typeof definitions] } = {
  maximumConnectPacketSizeBytes: ['Size of a CONNECT'],
  connectTimeoutMs: ['Time until CONNACK'],
  maximumPacketSizeBytes: ['Size of any other packet', 'maximumPacketSizeBytes'],
  maximumClientIdBytes: ['Client Identifier'],
  maximumTopicBytes: ['Topic Name, Topic Filter'],
  maximumTopicLevels: ['Levels of a topic'],
  maximumSubscriptionsPerSession: ['Subscriptions of a Session'],
  maximumSubscriptionsPerTenant: ['Subscriptions of an organization', 'maximumSubscriptionsPerOrganization'],
  maximumTopicFilterBytesPerTenant: [
    'Bytes of the Topic Filters of an organization',
    'maximumTopicFilterBytesPerOrganization',
  ],
  maximumQoS: ['Highest QoS'],
  retainAvailable: ['Retained messages'],
  maximumRetainedMessages: ['Retained messages'],
  maximumRetainedBytes: ['Bytes of retained messages'],
  maximumRetainedMessagesPerTenant: ['Retained messages of an organization', 'maximumRetainedMessagesPerOrganization'],
  maximumRetainedBytesPerTenant: [
    'Bytes of retained messages of an organization',
    'maximumRetainedBytesPerOrganization',
  ],
  receiveMaximum: ['Receive Maximum of the broker'],
  maximumInflight: ['Messages on their way to a client'],
  maximumInflightBytes: ['Bytes on their way to a client'],
  maximumQueuedMessages: ['Messages that a Session waits for'],
  maximumQueuedBytes: ['Bytes that a Session waits for'],
  topicAliasMaximum: ['Topic Aliases of a client'],
  outgoingTopicAliasMaximum: ['Topic Aliases towards a client'],
  maximumKeepAliveSeconds: ['Keep Alive'],
  maximumSessionExpirySeconds: ['Session Expiry Interval', 'sessionExpiryMaximumSeconds'],
  maximumOutgoingBytes: ['Bytes buffered towards a client'],
  maximumOutgoingBytesPerTenant: [
    'Bytes buffered towards the clients of an organization',
    'maximumOutgoingBytesPerOrganization',
  ],
  slowReaderTimeoutMs: ['Time for which a client may not read'],
  maximumConnections: ['Connections in all'],
  maximumConnectionsPerTenant: ['Connections of an organization', 'maximumConnectionsPerOrganization'],
  maximumConnectionsPerIdentity: ['Connections of a user', 'maximumConnectionsPerUser'],
  maximumSessionsPerIdentity: ['Sessions of a user, without a connection included'],
  maximumSessionsPerTenant: [
    'Sessions of an organization, without a connection included',
    'maximumSessionsPerOrganization',
  ],
  maximumConnectsPerSecondPerTenant: [
    'Connections that an organization opens',
    'maximumConnectsPerSecondPerOrganization',
  ],
  maximumPublishesPerSecondPerTenant: [
    'Messages that an organization publishes',
    'maximumPublishesPerSecondPerOrganization',
  ],
  maximumPublishedBytesPerSecondPerTenant: [
    'Bytes that an organization sends',
    'maximumPublishedBytesPerSecondPerOrganization',
  ],
  maximumBytesPerSecond: ['Bytes read from a connection'],
  maximumBytesTowardLog: ['Bytes on their way to the log'],
}

for (const [limit, [row, setting]] of Object.entries(ROWS)) {
  test(`the page has the limit ${limit} as the service has it`, () => {
    const [, shown = ''] = new RegExp(String.raw`^\| ${row} \| ([^|]*) \|`, 'm').exec(limitsOf(page)) ?? []
    const definition = setting === undefined ? undefined : definitions[setting]
    const value = definition === undefined ? DEFAULT_LIMITS[limit as keyof Limits] : definition.default()
    assert.ok(shown.includes(wordsFor(limit, value)), `${row}: ${shown}`)
    if (definition !== undefined) assert.ok(shown.includes(definition.name), row)
  })
}

test('each Reason Code that the errors page names is in the table of Reason Codes, with its name', () => {
  const [, mqtt = ''] = errors.split(/^## MQTT$/m)
  const named = new Set(Array.from((mqtt.split(/^## /m)[0] ?? '').matchAll(/0x[0-9A-F]{2}/g), ([code]) => code))
  assert.ok(named.size > 15)
  const [, table = ''] = page.split('## Reason Codes')
  assert.deepEqual(
    [...named].filter((code) => !table.includes(`| ${code} | `)),
    [],
  )
})

function limitsOf(text: string): string {
  return text.split('## Limits')[1]?.split(/^## /m)[0] ?? ''
}

function wordsFor(limit: string, value: unknown): string {
  if (typeof value !== 'number') return ''
  if (value === 0) return 'no bound'
  return (limit.endsWith('Ms') ? value / 1000 : value).toLocaleString('en')
}
