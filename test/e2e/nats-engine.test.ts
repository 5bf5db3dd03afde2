/** The whole service with the engine over NATS. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { natsServerProgram } from '../../src/engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../../src/engine/nats/nats-servers.testing.ts'
import { Administration } from '../support/administration.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'

const EVENTS = 20

const found = natsServerProgram()

describe('the service with the engine over NATS', () => {
  if ('missing' in found) {
    test('serves', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  let folder: string
  let login: { readonly username: string; readonly password: string }
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
    folder = await makeFolder()
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })

  const environment = (nodeName: string): Record<string, string> => ({
    FIELDGATE_ENGINE: 'nats',
    FIELDGATE_NATS_URL: servers.urls.join(),
    FIELDGATE_NATS_MONITORING_URL: servers.monitors.join(),
    FIELDGATE_NODE_NAME: nodeName,
    FIELDGATE_RETENTION_BYTES: '1073741824',
  })

  test('has acknowledged events, Sessions and commands again after it was killed', { timeout: 60_000 }, async () => {
    let devEui: string
    let applicationId: string
    {
      await using service = await startAsProcess(folder, environment('a'))
      const administration = new Administration(service)
      applicationId = await administration.application(await administration.organization())
      devEui = await administration.device(applicationId)
      const credential = await administration.serviceCredential('')
      login = { username: credential.userName, password: credential.password }
      const subscriber = await WireClient.open(service, 4)
      assert.equal(await subscriber.connect(login, { clientId: 'subscriber', clean: false }), 0)
      assert.equal(await subscriber.subscribe('application/+/device/+/command/+'), 1)
      subscriber.destroy()
      const publisher = await WireClient.open(service, 4)
      assert.equal(await publisher.connect(login, { clientId: 'publisher' }), 0)
      for (let number = 0; number < EVENTS; number += 1) {
        const payload = JSON.stringify({ fCnt: number })
        publisher.send(publisher.publishPacket(`application/${applicationId}/device/${devEui}/event/up`, payload, 1))
        assert.equal((await publisher.next())?.cmd, 'puback')
      }
      const deviceQueueItem = { confirmed: false, fPort: 10, data: 'AQID' }
      await administration.must('POST', `/api/devices/${devEui}/queue`, { deviceQueueItem })
      service.program.signal('SIGKILL')
      await service.program.ended()
    }
    await using service = await startAsProcess(folder, environment('a'))
    const administration = new Administration(service)
    const { result } = await administration.must('GET', `/api/devices/${devEui}/events?limit=100&order=oldest`)
    assert.deepEqual(
      (result as readonly { readonly event: { readonly fCnt: number } }[]).map(({ event }) => event.fCnt),
      Array.from({ length: EVENTS }, (_, number) => number),
    )
    using subscriber = await WireClient.open(service, 4)
    assert.equal(await subscriber.connect(login, { clientId: 'subscriber', clean: false }), 0)
    const command = await subscriber.next()
    assert.equal(command?.cmd, 'publish')
    assert.equal(command.topic, `application/${applicationId}/device/${devEui}/command/down`)
  })

  test('has the Sessions of a node that died under another name', { timeout: 60_000 }, async () => {
    await using service = await startAsProcess(folder, environment('b'))
    using subscriber = await WireClient.open(service, 4)
    subscriber.send(subscriber.connectPacket(login, { clientId: 'subscriber', clean: false }))
    const connack = await subscriber.next()
    assert.equal(connack?.cmd === 'connack' && connack.sessionPresent, true)
  })
})
