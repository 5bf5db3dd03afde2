/**
 * A command goes to the organization's own network server, or else to a network server of the whole
 * deployment.
 */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { LiveConnections, publish, received } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { WireClient } from '../support/wire-client.ts'

const FILTER = 'application/+/device/+/command/down'

let service: RunningService
let administration: Administration
let live: LiveConnections
let everywhere: WireClient
let credential: ServiceCredential
let integrator: WireClient
let topicName: string
let queuePath: string

before(async () => {
  service = await startInProcess()
  administration = new Administration(service)
  live = new LiveConnections(service)
  everywhere = await live.networkServer(await administration.serviceCredential(''))
  assert.equal(await everywhere.subscribe(FILTER), 1)
})

beforeEach(async () => {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const devEui = await administration.device(applicationId)
  topicName = `application/${applicationId}/device/${devEui}/command/down`
  queuePath = `/api/devices/${devEui}/queue`
  integrator = await live.integrator(5, await administration.brokerToken(service.adminSession, organizationId))
  credential = await administration.serviceCredential(organizationId)
})

after(async () => {
  live.closeAll()
  await service.stop()
})

function command(id: string): Promise<number> {
  return publish(integrator, topicName, JSON.stringify({ confirmed: false, fPort: 10, data: 'AQID', id }))
}

async function states(): Promise<readonly string[]> {
  const { deviceQueueItems } = await administration.must('GET', queuePath)
  return (deviceQueueItems as { id: string; state: string }[]).map(({ id, state }) => `${id} ${state}`)
}

async function revoke(): Promise<void> {
  await administration.must('DELETE', `/api/service-credentials/${credential.id}`)
}

describe('a command of an organization with a network server of its own', () => {
  it('waits for that one while it is away, though one of the deployment is there', async () => {
    assert.equal(await command('one'), 0)
    const own = await live.networkServer(credential)
    assert.equal(await own.subscribe(FILTER), 1)
    assert.equal((await received(own)).topic, topicName)
    await own.ping()
    own.destroy()
    assert.equal(await command('two'), 0)
    assert.deepEqual(await everywhere.ping(), [])
    assert.deepEqual(await states(), ['two queued', 'one sent'])
    const again = await live.networkServer(credential)
    assert.equal(await again.subscribe(FILTER), 1)
    assert.equal((await received(again)).topic, topicName)
    await again.ping()
    assert.deepEqual(await states(), ['two sent', 'one sent'])
    assert.deepEqual(await everywhere.ping(), [])
  })

  it('goes to one of the deployment when the organization’s last credential is revoked', async () => {
    assert.equal(await command('one'), 0)
    assert.deepEqual(await everywhere.ping(), [])
    await revoke()
    assert.equal((await received(everywhere)).topic, topicName)
    await everywhere.ping()
    assert.deepEqual(await states(), ['one sent'])
  })

  it('goes there, too, if it was on its way to a network server that never acknowledged it; never if that one did', async () => {
    const username = credential.userName
    const kept = { clean: false, properties: { sessionExpiryInterval: 3600 }, clientId: 'kept' }
    const own = await live.connect(5, { username, password: credential.password }, kept)
    assert.equal(await own.subscribe(FILTER), 1)
    assert.equal(await command('acknowledged'), 0)
    assert.equal((await received(own)).topic, topicName)
    await own.ping()
    assert.equal(await command('on-its-way'), 0)
    assert.equal((await own.next())?.cmd, 'publish')
    own.destroy()
    assert.deepEqual(await states(), ['on-its-way queued', 'acknowledged sent'])
    assert.deepEqual(await everywhere.ping(), [])
    await revoke()
    const { payload } = await received(everywhere)
    const { deviceQueueItems } = await administration.must('GET', queuePath)
    assert.equal((deviceQueueItems as { id: string }[])[0]?.id, 'on-its-way')
    assert.equal((JSON.parse(payload) as { fPort: number }).fPort, 10)
    await everywhere.ping()
    assert.deepEqual(await states(), ['on-its-way sent', 'acknowledged sent'])
    assert.deepEqual(await everywhere.ping(), [])
  })
})

describe('a command of an organization without one', () => {
  it('goes to one of the deployment', async () => {
    await revoke()
    assert.equal(await command('one'), 0)
    assert.equal((await received(everywhere)).topic, topicName)
  })
})
