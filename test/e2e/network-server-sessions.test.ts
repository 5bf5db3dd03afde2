/**
 * Commands that a network server has not acknowledged are not lost with its connection: its Session
 * is kept if the client asks for that.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { IConnectPacket, Packet } from 'mqtt-packet'
import { Administration } from '../support/administration.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Login, Version } from '../support/wire-client.ts'

let service: RunningService
let networkServer: Login
let integrator: Login

before(async () => {
  service = await startInProcess({ environment: { FIELDGATE_SESSION_EXPIRY_MAXIMUM_SECONDS: '7200' } })
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const { userName, password } = await administration.serviceCredential('')
  networkServer = { username: userName, password }
  const { session } = await administration.person([{ organizationId }])
  integrator = { username: await administration.brokerToken(session, organizationId), password: 'default' }
})

after(async () => {
  await service.stop()
})

/** Connects, and disconnects without a DISCONNECT. */
async function visit(login: Login, version: Version, fields: Partial<IConnectPacket>) {
  const client = await WireClient.open(service, version)
  client.send(client.connectPacket(login, fields))
  const connack: Packet | undefined = await client.next()
  client.destroy()
  assert.ok(connack?.cmd === 'connack')
  return {
    sessionPresent: connack.sessionPresent,
    expiry: connack.properties?.sessionExpiryInterval,
  }
}

test('a network server that asks for Clean Start 0 alone finds its Session again for an hour, and is told so', async () => {
  const fields = { clientId: 'chirpstack', clean: false }
  assert.deepEqual(await visit(networkServer, 5, fields), { sessionPresent: false, expiry: 3600 })
  assert.deepEqual(await visit(networkServer, 5, fields), { sessionPresent: true, expiry: 3600 })
  const asking = { ...fields, properties: { sessionExpiryInterval: 100 } }
  assert.deepEqual(await visit(networkServer, 5, asking), { sessionPresent: true, expiry: undefined })
  assert.deepEqual(await visit(networkServer, 5, { ...fields, clean: true }), {
    sessionPresent: false,
    expiry: undefined,
  })
  assert.deepEqual(await visit(networkServer, 5, fields), { sessionPresent: false, expiry: 3600 })
})

test('a network server of MQTT 3.1.1 with Clean Session 0 finds its Session again', async () => {
  const fields = { clientId: 'chirpstack-v3', clean: false }
  assert.equal((await visit(networkServer, 4, fields)).sessionPresent, false)
  assert.equal((await visit(networkServer, 4, fields)).sessionPresent, true)
})

test('an integrator’s Session without a Session Expiry Interval ends with its connection [MQTT-4.1.0-2]', async () => {
  const fields = { clientId: 'integrator', clean: false }
  for (let visits = 0; visits < 2; visits += 1) {
    assert.deepEqual(await visit(integrator, 5, fields), { sessionPresent: false, expiry: undefined })
  }
})
