/**
 * The causes for which a client gets nothing, each brought about by a real client, and each told in
 * one sentence by `GET /api/diagnosis`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { after, before, test } from 'node:test'
import { generate } from 'mqtt-packet'
import { readFileSync } from 'node:fs'
import { commandLine } from '../../src/cli/command-line.testing.ts'
import { Administration, SHORT_TTL_SECONDS } from '../support/administration.ts'
import type { Person, ServiceCredential } from '../support/administration.ts'
import { assertEnded, LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

interface Diagnosis {
  readonly isWell: boolean
  readonly cause: string
  readonly sentence: string
  readonly steps: readonly {
    readonly step: string
    readonly status: string
    readonly code: string
    readonly sentence: string
    readonly facts: readonly { readonly name: string; readonly value: string }[]
  }[]
}

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string
let applicationId: string
let devEui: string
let admin: Person
let jwt: string
let credential: ServiceCredential
let networkServer: WireClient

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  devEui = await administration.device(applicationId)
  admin = await administration.person([{ organizationId, isAdmin: true }])
  jwt = await administration.brokerToken(admin.session, organizationId)
  credential = await administration.serviceCredential(organizationId)
  networkServer = await live.networkServer(credential)
  await event(topicOf('up'))
})

after(async () => {
  live.closeAll()
  await service.stop()
})

const UPLINK = JSON.stringify({ fPort: 1, data: 'AQ==', fCnt: 1 })

function topicOf(kind: string): string {
  return `application/${applicationId}/device/${devEui}/event/${kind}`
}

/** The network server publishes an uplink, which the broker takes. */
async function event(topicName: string): Promise<void> {
  assert.ok((await publish(networkServer, topicName, UPLINK)) < 0x80)
}

async function why(query: Readonly<Record<string, string>>, session = admin.session): Promise<Diagnosis> {
  const path = `/api/diagnosis?${new URLSearchParams(query).toString()}`
  return (await service.http.must('GET', path, { token: session })) as unknown as Diagnosis
}

function stepOf({ steps }: Diagnosis, name: string): Diagnosis['steps'][number] {
  const found = steps.find(({ step }) => step === name)
  assert.ok(found !== undefined, name)
  return found
}

/** Subscribes with a client of this name, and asks for the client. */
async function whySubscriber(clientId: string, topicFilter: string, granted: number): Promise<Diagnosis> {
  const client = await live.integrator(5, jwt, { clientId })
  assert.equal(await client.subscribe(topicFilter), granted)
  return why({ clientId })
}

test('a client that gets its events is well, and so are its device and its topic', async () => {
  const client = await live.integrator(5, jwt, { clientId: 'well' })
  assert.equal(await client.subscribe(topicOf('up')), 1)
  await event(topicOf('up'))
  assert.equal((await received(client)).topic, topicOf('up'))
  for (const query of [{ clientId: 'well' }, { devEui: devEui.toUpperCase() }, { topic: topicOf('+') }]) {
    const told = await why(query)
    assert.deepEqual([told.isWell, told.cause], [true, ''], JSON.stringify(told))
    assert.match(told.sentence, /^Nothing wrong was found on the way\./)
    assert.match(stepOf(told, 'device').sentence, /^The device was last heard at 20/)
    assert.equal(stepOf(told, 'networkServer').status, 'ok')
  }
  assert.match(stepOf(await why({ devEui }), 'subscription').sentence, /^1 clients? subscribe/)
})

test('cause 1, the wrong case of a level: the sentence has the right level and the topic', async () => {
  const told = await whySubscriber('case', `Application/${applicationId}/device/+/event/up`, 0x87)
  assert.match(told.sentence, /level 1 is "Application", and has to be "application"\. Subscribe to application\//)
  assert.ok(told.sentence.endsWith(`Subscribe to application/${applicationId}/device/+/event/up.`), told.sentence)
})

test('cause 2, an unknown kind of event', async () => {
  const told = await whySubscriber('kind', `application/${applicationId}/device/+/event/uplink`, 1)
  assert.equal(told.cause, 'event_kind_unknown')
  assert.equal(
    told.sentence,
    `No event can match application/${applicationId}/device/+/event/uplink: no event is of the kind "uplink". ` +
      `Subscribe to application/${applicationId}/device/+/event/up.`,
  )
})

test('an upper-case DevEUI', async () => {
  const told = await whySubscriber('upper', topicOf('up').replace(devEui, devEui.toUpperCase()), 1)
  assert.equal(told.cause, 'dev_eui_malformed')
  assert.ok(told.sentence.endsWith(`Subscribe to ${topicOf('up')}.`), told.sentence)
})

test('cause 3, an unknown device, and a device of another organization reads the same', async () => {
  const other = await administration.organization()
  const foreign = await administration.device(await administration.application(other))
  const unknown = '00005eef10000099'
  const sentences = []
  for (const one of [unknown, foreign]) {
    const told = await whySubscriber(`device-${one}`, topicOf('up').replace(devEui, one), 1)
    assert.equal(told.cause, 'device_unknown')
    const asked = await why({ devEui: one, organizationID: organizationId })
    assert.equal(asked.cause, 'device_unknown')
    sentences.push([told.sentence, asked.sentence, JSON.stringify(asked.steps)].map((text) => text.replaceAll(one, '')))
  }
  assert.deepEqual(sentences[0], sentences[1])
  assert.match(String(sentences[0]?.[0]), /the organization has no device/)
})

test('cause 4, the topic of another application, and of another organization', async () => {
  const second = await administration.application(organizationId)
  const wrong = `application/${second}/device/${devEui}/event/up`
  const told = await whySubscriber('other-application', wrong, 1)
  assert.equal(told.cause, 'device_elsewhere')
  assert.ok(told.sentence.endsWith(`Subscribe to ${topicOf('up')}.`), told.sentence)
  const foreign = await administration.application(await administration.organization())
  for (const id of [foreign, '999999']) {
    const refused = await whySubscriber(`organization-${id}`, `application/${id}/device/+/event/+`, 0x87)
    assert.equal(refused.cause, 'subscribe_application_not_granted')
    assert.match(refused.sentence, new RegExp(`: the organization has no application ${id}\\.`))
    const asked = await why({ topic: `application/${id}/device/+/event/+` })
    assert.equal(asked.cause, 'application_unknown')
  }
})

test('cause 5, the Topic Filter #', async () => {
  const told = await whySubscriber('all', '#', 0x87)
  assert.match(told.sentence, /subscription to # at .*: a wildcard reaches beyond the events of one application\. /)
  const asked = await why({ topic: `application/${applicationId}/#` })
  assert.equal(asked.cause, 'wildcard_too_wide')
  assert.ok(asked.sentence.endsWith(`Subscribe to application/${applicationId}/device/+/event/+.`), asked.sentence)
})

test('cause 6, an expired token', async () => {
  const expiring = await administration.brokerToken(admin.session, organizationId, String(SHORT_TTL_SECONDS))
  const client = await live.integrator(5, expiring, { clientId: 'expired' })
  await assertEnded(client, 0x87, /expired/)
  const again = await WireClient.open(service, 4)
  assert.equal(await again.connect({ username: expiring, password: 'default' }, { clientId: 'expired' }), 4)
  const told = await why({ clientId: 'expired' })
  assert.equal(told.cause, 'token_expired')
  assert.match(told.sentence, /expired\. Create a new token, and enter it in the client as the user name\.$/)
})

test('cause 7, a wrong password', async () => {
  const client = await WireClient.open(service, 5)
  assert.equal(await client.connect({ username: jwt, password: 'secret' }, { clientId: 'password' }), 0x86)
  const told = await why({ clientId: 'password' })
  assert.equal(told.cause, 'password_invalid')
  assert.match(told.sentence, /Enter the word default as the password, in small letters\.$/)
})

test('cause 8, a client without TLS: a refusal has its address, and a global admin is told', async () => {
  const socket = connectTcp(service.mqttsPort, '127.0.0.1')
  const connect = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 0 } as const
  socket.on('error', () => {}).resume()
  socket.end(generate({ ...connect, clientId: 'plain' }))
  await once(socket, 'close')
  const { result } = await service.http.must('GET', '/api/refusals?search=tls_missing', { token: service.adminSession })
  const [refusal] = result as readonly Readonly<Record<string, unknown>>[]
  assert.deepEqual([refusal?.['kind'], refusal?.['address']], ['connect', '127.0.0.1'])
  const told = await why({ clientId: 'plain' }, service.adminSession)
  assert.equal(told.cause, 'tls_missing')
  assert.match(told.sentence, /A client at 127\.0\.0\.1 spoke without TLS at .*Switch TLS on in the client/)
  // The client has proved no organization: a member learns nothing of its address.
  const ofMember = await why({ clientId: 'plain' })
  assert.equal(ofMember.cause, 'client_unknown')
  assert.match(ofMember.sentence, /Check the address, the port, TLS and the Client Identifier in the client\.$/)
  assert.ok(!JSON.stringify(ofMember).includes('127.0.0.1'))
})

test('cause 9, a Session whose client is away, with its messages that wait', async () => {
  const kept = { clientId: 'asleep', clean: true, properties: { sessionExpiryInterval: 3_600 } }
  const client = await live.integrator(5, jwt, kept)
  assert.equal(await client.subscribe(topicOf('up')), 1)
  client.send({ cmd: 'disconnect', reasonCode: 0 })
  await client.rest()
  for (let count = 0; count < 7; count += 1) await event(topicOf('up'))
  const told = await why({ clientId: 'asleep' })
  assert.equal(told.cause, 'client_away')
  assert.match(told.sentence, /^The client has been away since 20.*, and 7 messages wait for it\. Start the client/)
  const facts = Object.fromEntries(stepOf(told, 'connection').facts.map(({ name, value }) => [name, value]))
  assert.deepEqual([facts['waitingMessages'], facts['sessionExpirySeconds']], ['7', '3600'])
})

test('a client that acknowledges nothing has used up its Receive Maximum', async () => {
  const client = await live.integrator(5, jwt, { clientId: 'full', properties: { receiveMaximum: 2 } })
  assert.equal(await client.subscribe(topicOf('up')), 1)
  for (let count = 0; count < 3; count += 1) await event(topicOf('up'))
  assert.equal(((await client.ping()) as unknown[]).length, 2)
  const told = await why({ clientId: 'full' })
  assert.equal(told.cause, 'window_full')
  assert.match(
    told.sentence,
    /has not acknowledged 2 messages, the first since 20.*by PUBACK, or restart the client\.$/,
  )
})

test('a token whose scope is narrower, a shared subscription, and a client without subscriptions', async () => {
  const narrow = await administration.brokerToken(admin.session, organizationId, '3600', { eventKinds: ['join'] })
  const client = await live.integrator(5, narrow, { clientId: 'narrow' })
  assert.equal(await client.subscribe(topicOf('up')), 0x87)
  assert.equal((await why({ clientId: 'narrow' })).cause, 'subscribe_outside_scope')
  for (const clientId of ['share-1', 'share-2']) {
    const member = await live.integrator(5, jwt, { clientId })
    assert.equal(await member.subscribe(`$share/team/${topicOf('up')}`), 1)
  }
  const shared = await why({ clientId: 'share-1' })
  assert.equal(shared.isWell, true)
  assert.match(shared.sentence, /Other clients share \$share\/team\/.*: each event goes to one of them\./)
  await live.integrator(5, jwt, { clientId: 'idle' })
  assert.equal((await why({ clientId: 'idle' })).cause, 'no_subscription')
})

test('refused events, a failed codec, a disabled device and a network server that is away are told for the device', async () => {
  const codec = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: 'function decodeUplink() { throw new Error("no") }' }
  const ofCodec = await administration.application(organizationId, codec)
  const failing = await administration.device(ofCodec)
  const up = `application/${ofCodec}/device/${failing}/event/up`
  const reader = await live.integrator(5, jwt, { clientId: 'errors' })
  assert.equal(await reader.subscribe(up.replace(/up$/, 'error')), 1)
  await event(up)
  await received(reader)
  const failed = await why({ devEui: failing })
  assert.equal(failed.cause, 'codec_failed')
  assert.match(failed.sentence, /Try the codec with this uplink on the page Codecs, and correct it\.$/)

  const wrong = `application/${applicationId}/device/${failing}/event/up`
  assert.equal(await publish(networkServer, wrong, UPLINK), 0x87)
  const moved = await why({ devEui: failing })
  assert.equal(moved.cause, 'event_of_other_application')
  assert.match(moved.sentence, new RegExp(`Move the device to application ${applicationId}, or let`))

  const silent = await administration.device(applicationId)
  assert.equal((await why({ devEui: silent })).cause, 'device_never_heard')
  await administration.must('PUT', `/api/devices/${silent}`, {
    device: { name: 'Meter', applicationID: applicationId, isDisabled: true },
  })
  assert.equal((await why({ devEui: silent })).cause, 'device_disabled')

  networkServer.send({ cmd: 'disconnect', reasonCode: 0 })
  await networkServer.rest()
  const away = await why({ devEui })
  assert.equal(away.cause, 'network_server_away')
  assert.match(away.sentence, /^The network server has been away since 20.*Start the network server/)
})

test('a command for a device that was never heard says so in the queue', async () => {
  const server = await live.networkServer(await administration.serviceCredential(organizationId))
  assert.equal(await server.subscribe('application/+/device/+/command/down', 1), 1)
  const silent = await administration.device(applicationId)
  const queue = `/api/devices/${silent}/queue`
  await administration.must('POST', queue, {
    deviceQueueItem: { id: 'valve', confirmed: false, fPort: 1, data: 'AQ==' },
  })
  assert.equal((await received(server)).topic, `application/${applicationId}/device/${silent}/command/down`)
  // The service has read the PUBACK before it answers.
  assert.deepEqual(await server.ping(), [])
  const { deviceQueueItems } = await administration.must('GET', queue)
  const [item] = deviceQueueItems as readonly Readonly<Record<string, unknown>>[]
  assert.deepEqual([item?.['state'], item?.['waitCode']], ['sent', 'device_never_heard'])
  server.destroy()
})

test('fieldgate why tells the same, with the exit code', async () => {
  const shell = commandLine(service.dataDirectory)
  const wrong = await shell(`why application/${applicationId}/device/+/event/uplink`)
  assert.equal(wrong.code, 1, wrong.error)
  assert.match(wrong.out, /^No event can match .*Subscribe to application\/\d+\/device\/\+\/event\/up\.$/m)
  assert.match(wrong.out, /^subscription +problem +No event can match/m)
  const right = await shell(`why application/${applicationId}/device/+/event/up --json`)
  const told = JSON.parse(right.out) as Diagnosis
  assert.equal(right.code, told.isWell ? 0 : 1)
  assert.equal(told.steps.find(({ step }) => step === 'subscription')?.status, 'ok')
  const nobody = await shell('why no-such-client')
  assert.deepEqual([nobody.code, nobody.out.startsWith('No client no-such-client ')], [1, true])
  const forced = await shell('why abc/def --as clientId')
  assert.match(forced.out, /^No client abc\/def /)
  assert.equal((await shell('why x --as y')).code, 2)
})

test('each cause has its row in the documentation', () => {
  const page = readFileSync(new URL('../../docs/why-no-data.md', import.meta.url), 'utf8')
  const sources = ['device-steps', 'client-steps'].map((name) =>
    readFileSync(new URL(`../../src/http/diagnosis/${name}.ts`, import.meta.url), 'utf8'),
  )
  const codes = [...sources.join('').matchAll(/problem\(\s*'\w+',\s*'(\w+)'/g)].map(([, code]) => code)
  assert.ok(codes.length > 10, `${codes.length} codes`)
  assert.deepEqual(
    codes.filter((code) => !page.includes(`\`${code}\``)),
    [],
  )
})

test('a member sees its own clients only, a stranger learns nothing, and a question has one subject', async () => {
  const member = await administration.person([{ organizationId }])
  assert.equal((await why({ clientId: 'well' }, member.session)).cause, 'client_unknown')
  const stranger = await administration.person([{ organizationId: await administration.organization(), isAdmin: true }])
  const path = `/api/diagnosis?organizationID=${organizationId}&clientId=well`
  assert.equal((await service.http.ask('GET', path, { token: stranger.session })).status, 404)
  assert.deepEqual(
    (await why({ devEui }, stranger.session)).sentence.replace(devEui, ''),
    (await why({ devEui: '00005eef10000098' }, stranger.session)).sentence.replace('00005eef10000098', ''),
  )
  for (const query of ['', '?devEui=a&topic=b', '?devEui=xyz']) {
    const answer = await service.http.ask('GET', `/api/diagnosis${query}`, { token: admin.session })
    assert.equal(answer.status, 400, query)
  }
})
