/**
 * Commands in the whole service from their acceptance to their fate, as an integrator and a network
 * server see them.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import { LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { WireClient } from '../support/wire-client.ts'

const FILTER = 'application/+/device/+/command/down'
const COMMAND = { confirmed: true, fPort: 10, data: 'AQID' }

let service: RunningService
let administration: Administration
let live: LiveConnections
let organizationId: string
let applicationId: string
let integrator: WireClient
let server: WireClient
let devEui: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  organizationId = await administration.organization()
  applicationId = await administration.application(organizationId)
  const token = await administration.brokerToken(service.adminSession, organizationId)
  integrator = await live.integrator(5, token)
  server = await live.networkServer(await administration.serviceCredential(organizationId))
})

beforeEach(async () => {
  devEui = await administration.device(applicationId)
})

after(async () => {
  live.closeAll()
  await service.stop()
})

function topicOf(tail: string, application = applicationId): string {
  return `application/${application}/device/${devEui}/${tail}`
}

async function fates(): Promise<readonly (readonly [string, string])[]> {
  const { deviceQueueItems } = await administration.must('GET', `/api/devices/${devEui}/queue`)
  return (deviceQueueItems as { id: string; state: string }[]).map(({ id, state }) => [id, state] as const)
}

function json(text: string): Record<string, unknown> {
  return JSON.parse(text) as Record<string, unknown>
}

describe('a command', () => {
  it('waits for a network server, is acknowledged by its device, and keeps its id all the way', async () => {
    assert.equal(await publish(integrator, topicOf('command/down'), JSON.stringify({ ...COMMAND, id: 'valve-7' })), 0)
    assert.deepEqual(await fates(), [['valve-7', 'queued']])
    assert.equal(await server.subscribe(FILTER), 1)
    const { id: queueItemId } = json((await received(server)).payload)
    await server.ping()
    assert.deepEqual(await fates(), [['valve-7', 'sent']])
    assert.equal(await integrator.subscribe(topicOf('event/+')), 1)
    const deviceInfo = { applicationId, devEui }
    await publish(server, topicOf('event/txack'), JSON.stringify({ deviceInfo, queueItemId, fCntDown: 3 }))
    const txack = json((await received(integrator)).payload)
    assert.deepEqual(txack, { commandId: 'valve-7', deviceInfo, queueItemId, fCntDown: 3 })
    await publish(server, topicOf('event/ack'), JSON.stringify({ deviceInfo, queueItemId, acknowledged: true }))
    assert.equal(json((await received(integrator)).payload)['commandId'], 'valve-7')
    assert.deepEqual(await fates(), [['valve-7', 'acknowledged']])
    server.send({ cmd: 'unsubscribe', messageId: 99, unsubscriptions: [FILTER] })
    assert.equal((await server.next())?.cmd, 'unsuback')
  })

  it('is encoded by the codec of its application, and refused in the codec’s words', async () => {
    await administration.must('PUT', `/api/applications/${applicationId}`, {
      application: { payloadCodec: 'CAYENNE_LPP' },
    })
    const object = { temperatureSensor: { 1: 25 }, humiditySensor: { 1: 32 } }
    const command = { confirmed: false, fPort: 2, object }
    assert.equal(await publish(integrator, topicOf('command/down'), JSON.stringify(command)), 0)
    const { deviceQueueItems } = await administration.must('GET', `/api/devices/${devEui}/queue`)
    assert.equal((deviceQueueItems as { data: string }[])[0]?.data, 'AWcA+gFoQA==')
    const hot = JSON.stringify({ ...command, object: { temperatureSensor: { 1: 4000 } } })
    assert.equal(await publish(integrator, topicOf('command/down'), hot), 0x99)
    await administration.must('PUT', `/api/applications/${applicationId}`, { application: { payloadCodec: '' } })
    assert.equal(await publish(integrator, topicOf('command/down'), JSON.stringify(command)), 0x99)
  })

  it('follows its device to another application, and goes with it when it is deleted', async () => {
    const other = await administration.application(organizationId)
    await publish(integrator, topicOf('command/down'), JSON.stringify({ ...COMMAND, id: 'moved' }))
    await administration.must('PUT', `/api/devices/${devEui}`, { device: { applicationID: other } })
    assert.equal(await server.subscribe(topicOf('command/down', other)), 1)
    assert.equal((await received(server)).topic, topicOf('command/down', other))
    server.send({ cmd: 'unsubscribe', messageId: 98, unsubscriptions: [topicOf('command/down', other)] })
    assert.equal((await server.next())?.cmd, 'unsuback')
    await publish(integrator, topicOf('command/down', other), JSON.stringify({ ...COMMAND, id: 'left behind' }))
    await administration.must('DELETE', `/api/devices/${devEui}`)
    const device = { devEUI: devEui, applicationID: applicationId }
    await administration.must('POST', '/api/devices', { device })
    assert.deepEqual(await fates(), [])
  })
})
