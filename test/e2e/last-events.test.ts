/**
 * The setting `retainsLastEvents` of an application, from the network server to a subscriber that
 * comes later.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import type { Person } from '../support/administration.ts'
import { LiveConnections, publish } from '../support/live-connections.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { Version, WireClient } from '../support/wire-client.ts'

const DECODER = 'function decodeUplink({ bytes }) { return { data: { length: bytes.length } } }'
const LOW = { margin: 5, batteryLevel: 10, batteryLevelUnavailable: false, externalPowerSource: false }
const ALL = 'application/+/device/+/event/+'

interface Retained {
  readonly kind: string
  readonly fCnt: unknown
  readonly hasId: boolean
}

let folder: string
let service: RunningService
let administration: Administration
let live: LiveConnections
let server: WireClient
let organizationId: string
let owner: Person
let retaining: string
let plain: string
let devEui: string
let plainDevEui: string

async function start(): Promise<void> {
  service = await startInProcess({ environment: { FIELDGATE_DATA_DIR: folder } })
  administration = new Administration(service, 100)
  live = new LiveConnections(service)
}

async function stop(): Promise<void> {
  live.closeAll()
  await service.stop()
}

before(async () => {
  folder = await makeFolder()
  await start()
  organizationId = await administration.organization()
  owner = await administration.person([{ organizationId }])
  const codec = { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: DECODER }
  retaining = await administration.application(organizationId, { ...codec, retainsLastEvents: true })
  plain = await administration.application(organizationId, codec)
  devEui = await administration.device(retaining)
  plainDevEui = await administration.device(plain)
  server = await live.networkServer(await administration.serviceCredential(''))
})

after(async () => {
  await stop()
  await rm(folder, { recursive: true, force: true })
})

async function event(applicationId: string, device: string, payload: object, kind = 'up'): Promise<void> {
  const topicName = `application/${applicationId}/device/${device}/event/${kind}`
  assert.ok((await publish(server, topicName, JSON.stringify(payload))) < 0x80)
}

async function connect(version: Version = 5, scope: object = {}, home: Person = owner): Promise<WireClient> {
  const token = await administration.brokerToken(home.session, organizationId, '3600', scope)
  return live.integrator(version, token)
}

/** The retained events that a fresh subscription brings, in the order of their kinds. */
async function lastEvents(client: WireClient, topicFilter: string): Promise<readonly Retained[]> {
  assert.ok((await client.subscribe(topicFilter)) < 0x80)
  const packets = await client.ping()
  assert.ok(packets !== 'closed')
  const events = packets.map((packet) => {
    assert.ok(packet.cmd === 'publish' && packet.retain, JSON.stringify(packet))
    const { fCnt } = JSON.parse(String(packet.payload)) as { readonly fCnt?: unknown }
    const userProperties = JSON.stringify(packet.properties?.userProperties ?? {})
    return { kind: packet.topic.split('/').at(-1) ?? '', fCnt, hasId: userProperties.includes('"event-id"') }
  })
  return events.toSorted((a, b) => (a.kind < b.kind ? -1 : 1))
}

const kindsOf = (events: readonly Retained[]): readonly string[] => events.map(({ kind }) => kind)
const ofApplication = (id: string): string => `application/${id}/device/+/event/+`
const UP = { kind: 'up', fCnt: 2, hasId: true }

test('a new subscriber gets the last uplink, with its object, by both versions; a plain application gives none', async () => {
  const reader = await connect()
  assert.equal(await reader.subscribe(ofApplication(retaining)), 1)
  for (const fCnt of [1, 2]) {
    const uplink = { fCnt, fPort: 2, data: 'AQ==' }
    await event(retaining, devEui, uplink)
    await event(plain, plainDevEui, uplink)
  }
  await event(retaining, devEui, { fCnt: 3 }, 'join')
  for (let count = 0; count < 3; count += 1) {
    const packet = await reader.next()
    // A subscriber that is there gets them as they come [MQTT-3.3.1-12].
    assert.ok(packet?.cmd === 'publish' && !packet.retain)
    if (packet.topic.endsWith('/up')) assert.match(String(packet.payload), /"object":\{"length":1\}/)
    reader.send({ cmd: 'puback', messageId: packet.messageId ?? 0 })
  }
  assert.deepEqual(await lastEvents(await connect(), ofApplication(retaining)), [UP])
  assert.deepEqual(await lastEvents(await connect(4), ofApplication(retaining)), [{ ...UP, hasId: false }])
  const all = await connect(5, { reachesAllApplications: true })
  assert.deepEqual(await lastEvents(all, ALL), [UP])
  assert.deepEqual(await lastEvents(await connect(), ofApplication(plain)), [])
})

test('nobody else gets it: a token of another kind, another device, another organization; a shared subscription', async () => {
  const otherKind = await connect(5, { eventKinds: ['join'] })
  assert.deepEqual(await lastEvents(otherKind, `application/${retaining}/device/${devEui}/event/join`), [])
  assert.deepEqual(await lastEvents(otherKind, ofApplication(retaining)), [])
  const other = await administration.device(retaining)
  const ofOther = await connect(5, { devEuis: [other] })
  assert.deepEqual(await lastEvents(ofOther, ofApplication(retaining)), [])
  assert.deepEqual(await lastEvents(await connect(), `$share/g/${ofApplication(retaining)}`), [])
  const theirs = await administration.organization()
  const { session } = await administration.person([{ organizationId: theirs }])
  const token = await administration.brokerToken(session, theirs, '3600', { reachesAllApplications: true })
  const hostile = await live.integrator(5, token)
  assert.equal(await hostile.subscribe(ofApplication(retaining)), 0x87)
  assert.deepEqual(await lastEvents(hostile, ALL), [])
})

test('the state of a device is retained, too, and both stay through a restart', async () => {
  const reader = await connect()
  assert.equal(await reader.subscribe(`application/${retaining}/device/${devEui}/event/state`), 1)
  await event(retaining, devEui, LOW, 'status')
  const state = await reader.next()
  assert.ok(state?.cmd === 'publish' && !state.retain && state.topic.endsWith('/event/state'))
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['state', 'up'])
  const { result } = await administration.must('GET', `/api/devices/${devEui}/last`)
  assert.ok(Array.isArray(result) && result.length >= 2)
  await stop()
  await start()
  const token = await connect()
  assert.deepEqual(kindsOf(await lastEvents(token, ofApplication(retaining))), ['state', 'up'])
  server = await live.networkServer(await administration.serviceCredential(''))
})

test('the last events go with their device, and with the setting', async () => {
  const moved = await administration.device(retaining)
  for (const one of [devEui, moved]) await event(retaining, one, { fCnt: 2, fPort: 2, data: 'AQ==' })
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['state', 'up', 'up'])
  await administration.must('DELETE', `/api/devices/${moved}`)
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['state', 'up'])
  const path = `/api/applications/${retaining}`
  await administration.must('PUT', path, { application: { description: 'the setting stays' } })
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['state', 'up'])
  // A message that a network server retains by itself stays: the plain use is as it was.
  const topicName = `application/${retaining}/device/${devEui}/event/location`
  server.send(server.publishPacket(topicName, '{}', 1, true))
  assert.equal((await server.next())?.cmd, 'puback')
  await administration.must('PUT', path, { application: { retainsLastEvents: false } })
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['location'])
  await event(retaining, devEui, { fCnt: 9, fPort: 2, data: 'AQ==' })
  assert.deepEqual(kindsOf(await lastEvents(await connect(), ofApplication(retaining))), ['location'])
})
