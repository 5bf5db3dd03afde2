import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from '../broker-access/deployment.testing.ts'
import { TestEvents } from '../devices/stored-events.testing.ts'
import { TestBrokerViews } from '../operation/broker-views.testing.ts'
import { TestSessionViews } from '../operation/session-views.testing.ts'
import type { KeptSession } from '../operation/session-views.ts'

const MINUTE_MS = 60_000

let deployment: TestDeployment
let brokerViews: TestBrokerViews
let sessionViews: TestSessionViews
let history: TestEvents

before(async () => {
  brokerViews = new TestBrokerViews()
  sessionViews = new TestSessionViews()
  history = new TestEvents()
  deployment = await openTestDeployment({ brokerViews, sessionViews, history })
})

after(async () => {
  await deployment.close()
})

beforeEach(() => {
  brokerViews.disconnectAll()
  sessionViews.kept.length = 0
  sessionViews.seen.clear()
  sessionViews.seen.set(deployment.organizationId, { ofOrganization: 'connected' })
  history.stored.length = 0
})

interface Told {
  readonly cause: string
  readonly sentence: string
  readonly steps: readonly { readonly step: string; readonly status: string; readonly sentence: string }[]
}

async function why(query: Readonly<Record<string, string>>, person: Person = 'organizationAdmin'): Promise<Told> {
  const url = `/api/diagnosis?${new URLSearchParams(query).toString()}`
  const { statusCode, body } = await deployment.ask(await deployment.session(person), { method: 'GET', url })
  assert.equal(statusCode, 200, body)
  return JSON.parse(body) as Told
}

/** Stores uplinks of the device at these times before now, in minutes; the earliest first. */
function uplinks(...minutesAgo: readonly number[]): void {
  const { applicationId, devEui, clock } = deployment
  for (const ago of minutesAgo) history.add({ applicationId, devEui, timeMs: clock.now() - ago * MINUTE_MS })
}

function session(fields: Partial<KeptSession>): void {
  const { organizationId, userIds } = deployment
  const holder = { organizationId, userId: userIds.member, serviceCredentialId: undefined, tokenId: undefined }
  sessionViews.kept.push({
    holder,
    clientId: 'reader',
    isConnected: true,
    expirySeconds: 0,
    topicFilters: [`application/${deployment.applicationId}/device/+/event/up`],
    topicFilterCount: 1,
    sharedTopicFilters: [],
    unacknowledged: 0,
    sendMaximum: 10,
    isCongested: false,
    waiting: { messages: 0, isAll: true },
    ...fields,
  })
}

test('a device is silent after three of its usual intervals, and a low battery is named', async () => {
  const { devEui, registry, clock } = deployment
  clock.advance(100 * MINUTE_MS)
  uplinks(60, 50, 40, 30)
  assert.equal((await why({ devEui })).cause, '', 'exactly three intervals')
  history.stored.length = 0
  uplinks(61, 51, 41, 31)
  const silent = await why({ devEui })
  assert.equal(silent.cause, 'device_silent')
  assert.match(silent.sentence, /It usually sends every 10 min\. Check its power, and the gateways near it/)
  await registry.devices.recordSeen([{ devEui, lastSeenAtMs: clock.now() - 31 * MINUTE_MS, batteryLevel: 7 }])
  assert.match((await why({ devEui })).sentence, /Change its battery: the last level was 7 %\.$/)
})

test('an error of the codec counts for the last uplink, and not for an earlier one', async () => {
  const { applicationId, devEui, clock } = deployment
  const error = { applicationId, devEui, kind: 'error' as const }
  const payload = Buffer.from('{"type":"UPLINK_CODEC","error":"no such port."}')
  history.add({ ...error, payload, timeMs: clock.now() - MINUTE_MS - 5_001 })
  uplinks(1)
  assert.equal((await why({ devEui })).cause, '')
  history.add({ ...error, payload, timeMs: clock.now() - MINUTE_MS })
  const told = await why({ devEui })
  assert.equal(told.cause, 'codec_failed')
  assert.match(told.sentence, /: no such port\. The uplink went on without object\./)
  history.stored.length = 0
  uplinks(1)
  history.add({ ...error, payload: Buffer.from('{"type":"OTAA","error":"x"}'), timeMs: clock.now() - MINUTE_MS })
  assert.equal((await why({ devEui })).cause, '')
})

test('an interval that is not known makes no device silent', async () => {
  uplinks(90, 80, 70)
  assert.equal((await why({ devEui: deployment.devEui })).cause, '')
})

test('a network server that never connected, one that is away, and one that is no client are told apart', async () => {
  const { organizationId, devEui, clock } = deployment
  sessionViews.seen.set(organizationId, {})
  assert.equal((await why({ devEui })).cause, 'network_server_never_connected')
  uplinks(30)
  assert.match(stepOf(await why({ devEui }), 'networkServer').sentence, /is no client of the broker at present/)
  const goneAtMs = clock.now() - 10 * MINUTE_MS
  sessionViews.seen.set(organizationId, { ofOrganization: goneAtMs, ofDeployment: goneAtMs - 1 })
  const away = await why({ devEui })
  assert.equal(away.cause, 'network_server_away')
  assert.ok(away.sentence.startsWith(`The network server has been away since ${new Date(goneAtMs).toISOString()}.`))
  sessionViews.seen.set(organizationId, { ofOrganization: goneAtMs, ofDeployment: 'connected' })
  assert.equal((await why({ devEui })).cause, '')
})

test('unreadable events are told for each device of their application', async () => {
  const { organizationId, applicationId, devEui } = deployment
  uplinks(1)
  const topic = `application/${applicationId}/device/+/event/up`
  const holder = { organizationId, serviceCredentialId: '1' }
  brokerViews.refuse(holder, {
    kind: 'notice',
    code: 'event_unreadable_binary',
    reason: 'the payload is no JSON',
    topic,
  })
  const told = await why({ devEui })
  assert.equal(told.cause, 'event_unreadable_binary')
  assert.match(told.sentence, /programs can’t read them: the payload is no JSON\. Change this setting at the network/)
  assert.equal(stepOf(await why({ devEui }, 'member'), 'events').status, 'unknown')
})

test('a client that does not read, one that catches up, and one with more messages than are counted', async () => {
  session({ isCongested: true })
  assert.equal((await why({ clientId: 'reader' })).cause, 'slow_reader')
  sessionViews.kept.length = 0
  session({ waiting: { messages: 12, isAll: true } })
  assert.match((await why({ clientId: 'reader' })).sentence, /The client catches up: 12 messages wait for it\.$/)
  sessionViews.kept.length = 0
  session({ isConnected: false, awaySinceMs: 0, waiting: { messages: 32_768, isAll: false } })
  assert.match((await why({ clientId: 'reader' })).sentence, /and more than 32768 messages wait for it\./)
})

test('a member sees its own client, and not the clients of others', async () => {
  session({})
  assert.equal((await why({ clientId: 'reader' }, 'member')).cause, '')
  assert.equal((await why({ clientId: 'reader' }, 'deviceAdmin')).cause, 'client_unknown')
  assert.equal((await why({ clientId: 'reader' }, 'stranger')).cause, 'client_unknown')
  assert.equal((await why({ clientId: 'reader' }, 'globalAdmin')).cause, '')
})

test('an answer names the nodes that did not answer', async () => {
  brokerViews.missing = ['node-2']
  session({})
  const told: unknown = await why({ clientId: 'reader' })
  assert.deepEqual((told as { missingNodes: unknown }).missingNodes, ['node-2'])
  brokerViews.missing = []
})

function stepOf({ steps }: Told, name: string): Told['steps'][number] {
  const found = steps.find(({ step }) => step === name)
  assert.ok(found !== undefined, name)
  return found
}
