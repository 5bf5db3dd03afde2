/**
 * Narrow tokens and tokens for all applications over the wire, with a hostile organization beside.
 */
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import { Administration, quotedTopic } from '../support/administration.ts'
import type { Person } from '../support/administration.ts'
import { assertLives, LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { reasonOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'

const ALL = 'application/+/device/+/event/+'

let service: RunningService
let administration: Administration
let live: LiveConnections
let server: WireClient
let organizationId: string
let hostileOrganizationId: string
let applicationId: string
let secondApplicationId: string
let hostileApplicationId: string
let devEui: string
let otherDevEui: string
let secondDevEui: string
let hostileDevEui: string
let owner: Person
let reader: Person
let hostile: Person

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  hostileOrganizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  secondApplicationId = await administration.application(organizationId)
  hostileApplicationId = await administration.application(hostileOrganizationId)
  devEui = await administration.device(applicationId)
  otherDevEui = await administration.device(applicationId)
  secondDevEui = await administration.device(secondApplicationId)
  hostileDevEui = await administration.device(hostileApplicationId)
  owner = await administration.person([{ organizationId }])
  reader = await administration.person([{ organizationId }])
  hostile = await administration.person([{ organizationId: hostileOrganizationId, isAdmin: true }])
  server = await live.networkServer(await administration.serviceCredential(''))
})

after(async () => {
  live.closeAll()
  await service.stop()
})

async function connect(person: Person, scope: object, clientId: string, clean = true): Promise<WireClient> {
  const home = person === hostile ? hostileOrganizationId : organizationId
  const token = await administration.brokerToken(person.session, home, '3600', scope)
  return live.integrator(5, token, { clientId, clean, properties: { sessionExpiryInterval: 600 } })
}

async function event(application: string, device: string, payload: string, kind = 'up'): Promise<void> {
  assert.ok((await publish(server, `application/${application}/device/${device}/event/${kind}`, payload)) < 0x80)
}

async function payloads(client: WireClient, count: number): Promise<readonly string[]> {
  const all: string[] = []
  while (all.length < count) all.push((await received(client)).payload)
  await assertLives(client)
  return all
}

const ofApplication = (): string => `application/${applicationId}/device/+/event/+`
const commandTo = (application: string, device: string): string =>
  `application/${application}/device/${device}/command/down`

it('a token for one device and one kind gets this alone: live, stored, retained and shared', async () => {
  const scope = { devEuis: [devEui], eventKinds: ['up'], isReadOnly: true }
  const narrow = await connect(owner, scope, 'narrow')
  const suback = await narrow.suback(ofApplication())
  assert.equal(suback.granted[0], 1)
  assert.match(reasonOf(suback) ?? '', /^granted, but .* 1 device, events of the kind up$/)
  assert.equal(await narrow.subscribe(`$share/workers/${ofApplication()}`), 1)
  const whole = await connect(owner, {}, 'whole')
  assert.equal(await whole.subscribe(`$share/workers/${ofApplication()}`), 1)
  for (const topicFilter of [
    `application/${applicationId}/device/${otherDevEui}/event/+`,
    `application/${applicationId}/device/${devEui}/event/join`,
    ALL,
    '#',
  ]) {
    assert.equal(await narrow.subscribe(topicFilter), 0x87, topicFilter)
  }
  await event(applicationId, devEui, 'mine')
  await event(applicationId, devEui, 'another kind', 'join')
  await event(applicationId, otherDevEui, 'another device')
  // Once for each of its two subscriptions.
  assert.deepEqual(await payloads(narrow, 2), ['mine', 'mine'])
  // The group of the token without limits loses nothing to the narrow member.
  assert.deepEqual(await payloads(whole, 3), ['mine', 'another kind', 'another device'])
  narrow.destroy()
  await event(applicationId, devEui, 'while away')
  await event(applicationId, otherDevEui, 'another device while away')
  const again = await connect(owner, scope, 'narrow', false)
  assert.deepEqual(await payloads(again, 2), ['while away', 'while away'])
  assert.equal(await publish(again, commandTo(applicationId, devEui)), 0x87)
  await assertLives(again)
  whole.destroy()
  again.destroy()
})

it('a token for tags follows the tags of devices, live and for commands', async () => {
  const tagged = await connect(owner, { tags: { site: 'north' } }, 'tagged')
  assert.equal(await tagged.subscribe(ofApplication()), 1)
  await event(applicationId, otherDevEui, 'without the tag')
  assert.equal(await publish(tagged, commandTo(applicationId, otherDevEui)), 0x87)
  await administration.must('PUT', `/api/devices/${otherDevEui}`, { device: { tags: { site: 'north' } } })
  await event(applicationId, otherDevEui, 'with the tag')
  assert.deepEqual(await payloads(tagged, 1), ['with the tag'])
  assert.equal(await publish(tagged, commandTo(applicationId, otherDevEui)), 0)
  await administration.must('PUT', `/api/devices/${otherDevEui}`, { device: { tags: {} } })
  await event(applicationId, otherDevEui, 'without it again')
  assert.equal(await publish(tagged, commandTo(applicationId, otherDevEui)), 0x87)
  await assertLives(tagged)
  tagged.destroy()
})

it('a narrow token does not take over the connection of its user’s other program', async () => {
  const whole = await connect(owner, {}, 'the-same')
  const narrow = await connect(owner, { devEuis: [devEui] }, 'the-same')
  await assertLives(whole, narrow)
  whole.destroy()
  narrow.destroy()
})

it('a member who becomes read-only sends no more commands within a second, and keeps its events', async () => {
  const client = await connect(reader, {}, 'reader')
  assert.equal(await client.subscribe(ofApplication()), 1)
  assert.equal(await publish(client, commandTo(applicationId, devEui)), 0)
  const path = `/api/organizations/${organizationId}/users/${reader.id}`
  await administration.must('PUT', path, { organizationUser: { isReadOnly: true } })
  const until = performance.now() + 1_000
  let code = 0
  while (code === 0 && performance.now() < until) code = await publish(client, commandTo(applicationId, devEui))
  assert.equal(code, 0x87)
  await event(applicationId, devEui, 'still read')
  assert.deepEqual(await payloads(client, 1), ['still read'])
  const url = `/api/devices/${devEui}/queue`
  const json = { deviceQueueItem: { confirmed: false, fPort: 1, data: 'AQ==' } }
  assert.equal((await service.http.ask('POST', url, { token: reader.session, json })).status, 403)
  client.destroy()
})

it('one subscription brings the events of all own applications, and of no other organization’s, whoever asks', async () => {
  const scope = { reachesAllApplications: true }
  const mine = await connect(owner, scope, 'all')
  const theirs = await connect(hostile, scope, 'all')
  const token = await administration.brokerToken(owner.session, organizationId, '3600', scope)
  const path = `/api/mosquitto-auth/subscribe-organization-events?organizationId=${organizationId}`
  const { topic } = await service.http.must('GET', path, { token })
  assert.equal(quotedTopic(topic), ALL)
  for (const client of [mine, theirs]) assert.equal(await client.subscribe(ALL), 1)
  for (const foreign of [`application/${applicationId}/device/+/event/+`, 'application/+/device/+/command/down', '#']) {
    assert.equal(await theirs.subscribe(foreign), 0x87, foreign)
  }
  await event(applicationId, devEui, 'first')
  await event(hostileApplicationId, hostileDevEui, 'foreign')
  await event(secondApplicationId, secondDevEui, 'second')
  assert.deepEqual(await payloads(mine, 2), ['first', 'second'])
  assert.deepEqual(await payloads(theirs, 1), ['foreign'])

  mine.destroy()
  await event(applicationId, devEui, 'away')
  await event(hostileApplicationId, hostileDevEui, 'foreign and away')
  const again = await connect(owner, scope, 'all', false)
  assert.deepEqual(await payloads(again, 1), ['away'])
  assert.deepEqual(await payloads(theirs, 1), ['foreign and away'])

  const id = '52f14cd4-c6f1-4fbd-8f87-4025e1d49242'
  const made = await administration.application(organizationId, { id })
  assert.equal(made, id)
  const itsDevice = await administration.device(made)
  await event(made, itsDevice, 'of a new application')
  assert.deepEqual(await payloads(again, 1), ['of a new application'])
  await administration.must('DELETE', `/api/applications/${made}`)
  assert.equal(await administration.application(hostileOrganizationId, { id }), id)
  const theirDevice = await administration.device(made)
  await event(made, theirDevice, 'of their application')
  assert.deepEqual(await payloads(theirs, 1), ['of their application'])
  await event(applicationId, devEui, 'last')
  assert.deepEqual(await payloads(again, 1), ['last'])
  // Stored events of the application's time with the other organization stay with it.
  const replaying = await connect(hostile, scope, 'replaying')
  replaying.send(replaying.subscribePacket(`$replay/2020-01-01T00:00:00Z/${ALL}`))
  const stored: string[] = []
  while (stored.length < 3) {
    // SUBACK may come between them.
    const packet = await replaying.next()
    if (packet?.cmd === 'publish') stored.push(String(packet.payload))
    else assert.equal(packet?.cmd, 'suback')
  }
  assert.deepEqual(stored.toSorted(), ['foreign', 'foreign and away', 'of their application'])
  const rest = await replaying.ping()
  assert.ok(rest !== 'closed' && rest.every(({ cmd }) => cmd === 'suback'))
  for (const client of [again, theirs, replaying]) client.destroy()
})
