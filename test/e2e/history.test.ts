/**
 * Stored events of the real service, by HTTP and by replay: the events that network servers
 * published, for their organization.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { IPublishPacket, MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import type { Person } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const BEGINNING = '2020-01-01T00:00:00Z'
const EVENTS = 40

interface Item {
  readonly id: string
  readonly devEUI: string
  readonly kind: string
  readonly qos: number
  readonly event: { readonly fCnt: number }
}

let service: RunningService
let administration: Administration
let networkServer: MqttClient
const clients: MqttClient[] = []

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  const { userName, password } = await administration.serviceCredential('')
  networkServer = await connect(userName, password)
})

after(async () => {
  for (const client of clients) await client.endAsync(true)
  await service.stop()
})

async function connect(username: string, password: string, protocolVersion: 4 | 5 = 5): Promise<MqttClient> {
  const { mqttsPort: port, ca } = service
  const options = { host: 'localhost', port, protocol: 'mqtts', ca, username, password, reconnectPeriod: 0 } as const
  const client = await within(connectAsync({ ...options, protocolVersion }), 'CONNACK')
  clients.push(client)
  return client
}

async function integrator(person: Person, organizationId: string, protocolVersion: 4 | 5 = 5): Promise<MqttClient> {
  return connect(await administration.brokerToken(person.session, organizationId), 'default', protocolVersion)
}

/** Publishes events, a third at each QoS. */
async function publish(applicationId: string, devEui: string, from: number, count: number): Promise<void> {
  for (let fCnt = from; fCnt < from + count; fCnt += 1) {
    const topicName = `application/${applicationId}/device/${devEui}/event/${fCnt % 10 === 9 ? 'status' : 'up'}`
    await networkServer.publishAsync(topicName, JSON.stringify({ fCnt }), { qos: (fCnt % 3) as 0 | 1 | 2 })
  }
}

/** Resolves with `count` messages, in the order of arrival. */
function collect(client: MqttClient, count: number): Promise<IPublishPacket[]> {
  const { promise, resolve } = Promise.withResolvers<IPublishPacket[]>()
  const packets: IPublishPacket[] = []
  client.on('message', (_topic, _payload, packet) => {
    packets.push(packet)
    if (packets.length === count) resolve(packets)
  })
  return within(promise, `${count} messages`)
}

function idOf({ properties }: IPublishPacket): string {
  return String(properties?.userProperties?.['event-id'])
}

const countersOf = (packets: readonly IPublishPacket[]) =>
  packets.map(({ payload }) => (JSON.parse(payload.toString()) as { fCnt: number }).fCnt)

async function lines(path: string, token: string): Promise<Item[]> {
  const answer = await service.http.ask('GET', path, { token, headers: { accept: 'application/x-ndjson' } })
  assert.equal(answer.status, 200, answer.text)
  return answer.text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Item)
}

async function countersAt(path: string, token: string): Promise<number[]> {
  return (await lines(path, token)).map(({ event }) => event.fCnt)
}

async function place() {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  return { organizationId, applicationId, devEui, person: await administration.person([{ organizationId }]) }
}

test('events received live are in the history under the same id, of every QoS, in the same order', async () => {
  const { organizationId, applicationId, devEui, person } = await place()
  const reader = await integrator(person, organizationId)
  await reader.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })
  const received = collect(reader, EVENTS)
  await publish(applicationId, devEui, 0, EVENTS)
  const live = await received
  const token = await administration.brokerToken(person.session, organizationId)
  for (const path of [`/api/applications/${applicationId}/events`, `/api/devices/${devEui}/events`]) {
    const stored = await lines(`${path}?order=oldest`, token)
    assert.deepEqual(
      stored.map(({ id }) => id),
      live.map((packet) => idOf(packet)),
    )
    assert.deepEqual(
      stored.map(({ event, qos }) => [event.fCnt, qos]),
      countersOf(live).map((fCnt) => [fCnt, fCnt % 3]),
    )
    const page = await service.http.must('GET', `${path}?limit=3`, { token: person.session })
    assert.deepEqual(
      (page['result'] as Item[]).map(({ id }) => id),
      stored
        .slice(-3)
        .map(({ id }) => id)
        .toReversed(),
    )
    const next = await service.http.must('GET', `${path}?limit=3&after=${String(page['nextCursor'])}&kind=status`, {
      token: person.session,
    })
    assert.deepEqual(
      (next['result'] as Item[]).map(({ event }) => event.fCnt),
      [29, 19, 9],
    )
  }
})

for (const version of [4, 5] as const) {
  test(`a client with MQTT ${version === 4 ? '3.1.1' : '5'} is caught up, and goes on live without a gap or a second copy`, async () => {
    const { organizationId, applicationId, devEui, person } = await place()
    await publish(applicationId, devEui, 0, EVENTS)
    const [, second] = await lines(`/api/devices/${devEui}/events?order=oldest`, person.session)
    const reader = await integrator(person, organizationId, version)
    const received = collect(reader, EVENTS - 2 + 10)
    const topicFilter = `application/${applicationId}/device/+/event/+`
    const from = second?.id ?? ''
    if (version === 4) await reader.subscribeAsync(`$replay/${from}/${topicFilter}`, { qos: 1 })
    else await reader.subscribeAsync(topicFilter, { qos: 1, properties: { userProperties: { 'replay-from': from } } })
    await publish(applicationId, devEui, EVENTS, 10)
    assert.deepEqual(
      countersOf(await received),
      Array.from({ length: EVENTS + 8 }, (_, index) => index + 2),
    )
  })
}

test('a device that goes to another organization leaves its events behind, and takes none along', async () => {
  const one = await place()
  const other = await place()
  await publish(one.applicationId, one.devEui, 0, 5)
  await administration.must('DELETE', `/api/devices/${one.devEui}`)
  const device = { devEUI: one.devEui, applicationID: other.applicationId }
  await administration.must('POST', '/api/devices', { device })
  await publish(other.applicationId, one.devEui, 100, 2)
  assert.deepEqual(await countersAt(`/api/devices/${one.devEui}/events?order=oldest`, other.person.session), [100, 101])
  assert.deepEqual(
    await countersAt(`/api/applications/${one.applicationId}/events?order=oldest`, one.person.session),
    [0, 1, 2, 3, 4],
  )
  for (const [path, token] of [
    [`/api/devices/${one.devEui}/events`, one.person.session],
    [`/api/applications/${one.applicationId}/events`, other.person.session],
  ] as const) {
    const { status } = await service.http.ask('GET', path, { token })
    assert.equal(status, 404, path)
  }
})

test('an application that is made anew under its id, for another organization, shows nothing of the earlier one, retained or stored', async () => {
  const id = '7d3f0a52-94b1-4f0e-8b57-5f4f7f0d1c2e'
  const one = await place()
  const other = await place()
  await administration.application(one.organizationId, { id })
  const devEui = await administration.device(id)
  await publish(id, devEui, 0, 5)
  const topicName = `application/${id}/device/${devEui}/event/status`
  await networkServer.publishAsync(topicName, '{"fCnt":5}', { qos: 1, retain: true })
  await administration.must('DELETE', `/api/applications/${id}`)
  await administration.application(other.organizationId, { id })
  await administration.must('POST', '/api/devices', { device: { devEUI: devEui, applicationID: id } })

  const reader = await integrator(other.person, other.organizationId)
  const received = collect(reader, 2)
  const properties = { userProperties: { 'replay-from': BEGINNING } }
  await reader.subscribeAsync(`application/${id}/device/+/event/+`, { qos: 1, properties })
  await publish(id, devEui, 100, 2)
  assert.deepEqual(countersOf(await received), [100, 101])
  for (const path of [`/api/applications/${id}/events`, `/api/devices/${devEui}/events`]) {
    const stored = await lines(`${path}?order=oldest&from=${BEGINNING}`, other.person.session)
    assert.deepEqual(
      stored.map(({ event }) => event.fCnt),
      [100, 101],
    )
  }
})
