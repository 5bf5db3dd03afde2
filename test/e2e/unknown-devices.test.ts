/**
 * Devices that send before they are registered: their events survive SIGKILL, and come in their
 * order once the devices are registered.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, it } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

const DEVICES = 10_000
/** Three events of each device wait at once at most. */
const ROOMY = { FIELDGATE_UNKNOWN_DEVICE_EVENTS: String(3 * DEVICES) }
/** The id of the application at the network server. Fieldgate has no such application. */
const THEIRS = '3f8a1c52-7a52-4a0f-9d47-3ad2c0c7e111'

let folder: string

before(async () => {
  folder = await makeFolder()
})

after(async () => {
  await rm(folder, { recursive: true, force: true })
})

function devEuiOf(number: number): string {
  return `aa${number.toString(16).padStart(14, '0')}`
}

function topicOf(number: number): string {
  return `application/${THEIRS}/device/${devEuiOf(number)}/event/up`
}

function uplink(number: number, fCnt: number): string {
  const deviceInfo = { deviceName: `Meter ${number}`, applicationId: THEIRS, deviceProfileName: 'Water' }
  return JSON.stringify({ time: '2026-01-15T12:00:00Z', deviceInfo, fCnt, fPort: 1, data: 'AQ==' })
}

function connect(service: RunningService, username: string, password: string): Promise<MqttClient> {
  const { ca, mqttsPort } = service
  return connectAsync(`mqtts://localhost:${mqttsPort}`, { protocolVersion: 5, username, password, ca })
}

/** Publishes one uplink of each device. Resolves when all are acknowledged. */
async function publishAll(service: RunningService, credential: ServiceCredential, fCnt: number): Promise<void> {
  const server = await connect(service, credential.userName, credential.password)
  await Promise.all(
    Array.from({ length: DEVICES }, (_, number) =>
      server.publishAsync(topicOf(number), uplink(number, fCnt), { qos: 1 }),
    ),
  )
  await server.endAsync()
}

it('10,000 devices at once wait through SIGKILL, and none of their events is lost', { timeout: 180_000 }, async () => {
  let organizationId: string
  let applicationId: string
  let credential: ServiceCredential
  {
    await using service = await startAsProcess(folder, ROOMY)
    const administration = new Administration(service)
    organizationId = await administration.organization()
    applicationId = await administration.application(organizationId)
    credential = await administration.serviceCredential(organizationId)
    await publishAll(service, credential, 1)
    service.program.signal('SIGKILL')
    await service.program.ended()
  }
  await using service = await startAsProcess(folder, ROOMY)
  const administration = new Administration(service)
  const query = `organizationID=${organizationId}`
  const listed = await administration.must('GET', `/api/unknown-devices?${query}&limit=1`)
  assert.equal(listed['totalCount'], String(DEVICES))
  const [first] = listed['result'] as readonly Readonly<Record<string, unknown>>[]
  assert.equal(first?.['deviceName'], 'Meter 0')
  assert.equal(first?.['eventCount'], 1)
  await publishAll(service, credential, 2)

  const person = await administration.person([{ organizationId }])
  const jwt = await administration.brokerToken(person.session, organizationId)
  const reader = await connect(service, jwt, 'default')
  const seen = new Map<string, number[]>()
  let count = 0
  const { promise: all, resolve } = Promise.withResolvers<void>()
  reader.on('message', (topicName, payload) => {
    const { fCnt } = JSON.parse(payload.toString()) as { fCnt: number }
    seen.set(topicName, [...(seen.get(topicName) ?? []), fCnt])
    count += 1
    if (count === DEVICES * 3) resolve()
  })
  await reader.subscribeAsync(`application/${applicationId}/device/+/event/up`, { qos: 1 })

  const registered = await administration.must('POST', '/api/unknown-devices/register', {
    applicationID: applicationId,
    filter: { deviceProfileName: 'Water', devEUIPrefix: 'AA' },
    nameTemplate: 'North {deviceName}',
  })
  assert.deepEqual(registered, { registered: DEVICES, refused: 0, refusals: [], more: false })
  // Some of the kept events are still on their way.
  await publishAll(service, credential, 3)
  await all
  for (let number = 0; number < DEVICES; number += 1) {
    const topicName = `application/${applicationId}/device/${devEuiOf(number)}/event/up`
    assert.deepEqual(seen.get(topicName), [1, 2, 3], topicName)
  }
  const left = await administration.must('GET', `/api/unknown-devices?${query}&limit=0`)
  assert.equal(left['totalCount'], '0')
  const device = await administration.must('GET', `/api/devices/${devEuiOf(7)}`)
  assert.equal((device['device'] as Readonly<Record<string, unknown>>)['name'], 'North Meter 7')
  await reader.endAsync(true)
})

it(
  '10,000 devices at once are registered by a rule, and none of their events is lost',
  { timeout: 180_000 },
  async (context) => {
    const empty = await makeFolder()
    context.after(() => rm(empty, { recursive: true, force: true }))
    await using service = await startAsProcess(empty, ROOMY)
    const administration = new Administration(service)
    const organizationId = await administration.organization()
    const applicationId = await administration.application(organizationId)
    const credential = await administration.serviceCredential(organizationId)
    const person = await administration.person([{ organizationId }])
    const jwt = await administration.brokerToken(person.session, organizationId)
    const reader = await connect(service, jwt, 'default')
    const seen = new Map<string, number[]>()
    let count = 0
    const { promise: all, resolve } = Promise.withResolvers<void>()
    reader.on('message', (topicName, payload) => {
      const { fCnt } = JSON.parse(payload.toString()) as { fCnt: number }
      seen.set(topicName, [...(seen.get(topicName) ?? []), fCnt])
      count += 1
      if (count === DEVICES * 2) resolve()
    })
    await reader.subscribeAsync(`application/${applicationId}/device/+/event/up`, { qos: 1 })
    await administration.must('POST', '/api/registration-rules', {
      registrationRule: { applicationID: applicationId, networkServerProfileName: 'Water', devEUIPrefix: 'AA' },
    })
    await publishAll(service, credential, 1)
    await publishAll(service, credential, 2)
    await all
    for (let number = 0; number < DEVICES; number += 1) {
      const topicName = `application/${applicationId}/device/${devEuiOf(number)}/event/up`
      assert.deepEqual(seen.get(topicName), [1, 2], topicName)
    }
    const left = await administration.must('GET', `/api/unknown-devices?organizationID=${organizationId}&limit=0`)
    assert.equal(left['totalCount'], '0')
    await reader.endAsync(true)
  },
)

it('is told where nothing is kept, and the other events of the connection go on', async (context) => {
  const empty = await makeFolder()
  context.after(() => rm(empty, { recursive: true, force: true }))
  await using service = await startAsProcess(empty, { FIELDGATE_UNKNOWN_DEVICE_DAYS: '0' })
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const { userName: username, password } = await administration.serviceCredential(organizationId)
  using server = await WireClient.open(service, 5)
  assert.equal(await server.connect({ username, password }), 0)
  const packet = { dup: false, retain: false, qos: 1, topic: topicOf(1), payload: uplink(1, 1) } as const
  server.send({ cmd: 'publish', messageId: 1, ...packet })
  const answer = await server.next()
  assert.ok(answer?.cmd === 'puback')
  assert.equal(answer.reasonCode, 0x87)
  assert.notEqual(await server.ping(), 'closed')
})
